;; The product of rows with all rows, and the highest of each: the other way to compute a graph, to measure the native
;; runtime against. 32-bit floats, four to a vector, relaxed multiply-add where the processor has it.
;;
;; All rows stand packed in panels of eight, [panel][dimension][8], and those to multiply in groups of six,
;; [group][dimension][6]: twelve sums, which with what is loaded fill the sixteen registers, and a panel that stays in the
;; nearest cache while all groups are multiplied with it.
(module
  (import "kernel" "memory" (memory 1))

  ;; Scores of $groups groups at $left with $panels panels at $right, row by row at $out, with $stride bytes from row to row.
  (func (export "products")
    (param $left i32) (param $groups i32) (param $right i32) (param $panels i32) (param $dimensions i32) (param $out i32)
    (param $stride i32)
    (local $left_end i32)
    (local $at i32)
    (local $end i32)
    (local $into i32)
    (local $panel i32)
    (local $a v128)
    (local $b0 v128)
    (local $b1 v128)
    (local $s00 v128)
    (local $s01 v128)
    (local $s10 v128)
    (local $s11 v128)
    (local $s20 v128)
    (local $s21 v128)
    (local $s30 v128)
    (local $s31 v128)
    (local $s40 v128)
    (local $s41 v128)
    (local $s50 v128)
    (local $s51 v128)
    (local.set $left_end
      (i32.add (local.get $left) (i32.mul (local.get $groups) (i32.mul (local.get $dimensions) (i32.const 24)))))
    (loop $panels
      (local.set $at (local.get $left))
      (local.set $into (local.get $out))
      (loop $groups
        (local.set $panel (local.get $right))
        (local.set $end (i32.add (local.get $at) (i32.mul (local.get $dimensions) (i32.const 24))))
        (local.set $s00 (v128.const i32x4 0 0 0 0))
        (local.set $s01 (v128.const i32x4 0 0 0 0))
        (local.set $s10 (v128.const i32x4 0 0 0 0))
        (local.set $s11 (v128.const i32x4 0 0 0 0))
        (local.set $s20 (v128.const i32x4 0 0 0 0))
        (local.set $s21 (v128.const i32x4 0 0 0 0))
        (local.set $s30 (v128.const i32x4 0 0 0 0))
        (local.set $s31 (v128.const i32x4 0 0 0 0))
        (local.set $s40 (v128.const i32x4 0 0 0 0))
        (local.set $s41 (v128.const i32x4 0 0 0 0))
        (local.set $s50 (v128.const i32x4 0 0 0 0))
        (local.set $s51 (v128.const i32x4 0 0 0 0))
        (loop $dimension
          (local.set $b0 (v128.load (local.get $panel)))
          (local.set $b1 (v128.load offset=16 (local.get $panel)))
          (local.set $a (v128.load32_splat (local.get $at)))
          (local.set $s00 (f32x4.relaxed_madd (local.get $a) (local.get $b0) (local.get $s00)))
          (local.set $s01 (f32x4.relaxed_madd (local.get $a) (local.get $b1) (local.get $s01)))
          (local.set $a (v128.load32_splat offset=4 (local.get $at)))
          (local.set $s10 (f32x4.relaxed_madd (local.get $a) (local.get $b0) (local.get $s10)))
          (local.set $s11 (f32x4.relaxed_madd (local.get $a) (local.get $b1) (local.get $s11)))
          (local.set $a (v128.load32_splat offset=8 (local.get $at)))
          (local.set $s20 (f32x4.relaxed_madd (local.get $a) (local.get $b0) (local.get $s20)))
          (local.set $s21 (f32x4.relaxed_madd (local.get $a) (local.get $b1) (local.get $s21)))
          (local.set $a (v128.load32_splat offset=12 (local.get $at)))
          (local.set $s30 (f32x4.relaxed_madd (local.get $a) (local.get $b0) (local.get $s30)))
          (local.set $s31 (f32x4.relaxed_madd (local.get $a) (local.get $b1) (local.get $s31)))
          (local.set $a (v128.load32_splat offset=16 (local.get $at)))
          (local.set $s40 (f32x4.relaxed_madd (local.get $a) (local.get $b0) (local.get $s40)))
          (local.set $s41 (f32x4.relaxed_madd (local.get $a) (local.get $b1) (local.get $s41)))
          (local.set $a (v128.load32_splat offset=20 (local.get $at)))
          (local.set $s50 (f32x4.relaxed_madd (local.get $a) (local.get $b0) (local.get $s50)))
          (local.set $s51 (f32x4.relaxed_madd (local.get $a) (local.get $b1) (local.get $s51)))
          (local.set $panel (i32.add (local.get $panel) (i32.const 32)))
          (br_if $dimension
            (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 24))) (local.get $end))))
        (v128.store (local.get $into) (local.get $s00))
        (v128.store offset=16 (local.get $into) (local.get $s01))
        (local.set $into (i32.add (local.get $into) (local.get $stride)))
        (v128.store (local.get $into) (local.get $s10))
        (v128.store offset=16 (local.get $into) (local.get $s11))
        (local.set $into (i32.add (local.get $into) (local.get $stride)))
        (v128.store (local.get $into) (local.get $s20))
        (v128.store offset=16 (local.get $into) (local.get $s21))
        (local.set $into (i32.add (local.get $into) (local.get $stride)))
        (v128.store (local.get $into) (local.get $s30))
        (v128.store offset=16 (local.get $into) (local.get $s31))
        (local.set $into (i32.add (local.get $into) (local.get $stride)))
        (v128.store (local.get $into) (local.get $s40))
        (v128.store offset=16 (local.get $into) (local.get $s41))
        (local.set $into (i32.add (local.get $into) (local.get $stride)))
        (v128.store (local.get $into) (local.get $s50))
        (v128.store offset=16 (local.get $into) (local.get $s51))
        (local.set $into (i32.add (local.get $into) (local.get $stride)))
        (br_if $groups (i32.lt_u (local.get $at) (local.get $left_end))))
      (local.set $right (local.get $panel))
      (local.set $out (i32.add (local.get $out) (i32.const 32)))
      (br_if $panels (local.tee $panels (i32.sub (local.get $panels) (i32.const 1))))))

  ;; Goes through $count scores (a multiple of four) at $scores, which are of the rows from $place on, and keeps the
  ;; highest in the $keep scores at $best, descending, with their places at $places. $best begins with nothing but minus
  ;; infinity.
  (func (export "keep_highest")
    (param $scores i32) (param $count i32) (param $place i32) (param $best i32) (param $places i32) (param $keep i32)
    (local $least v128)
    (local $last i32)
    (local $end i32)
    (local $lane i32)
    (local $at i32)
    (local $score f32)
    (local $other f32)
    (local.set $last (i32.shl (i32.sub (local.get $keep) (i32.const 1)) (i32.const 2)))
    (local.set $least (v128.load32_splat (i32.add (local.get $best) (local.get $last))))
    (local.set $end (i32.add (local.get $scores) (i32.shl (local.get $count) (i32.const 2))))
    (loop $four
      (if (v128.any_true (f32x4.gt (v128.load (local.get $scores)) (local.get $least)))
        (then
          (local.set $lane (i32.const 0))
          (loop $lanes
            (local.set $score (f32.load (i32.add (local.get $scores) (local.get $lane))))
            (if (f32.gt (local.get $score) (f32x4.extract_lane 0 (local.get $least)))
              (then
                (local.set $at (local.get $last))
                (block $found
                  (loop $down
                    (br_if $found (i32.eqz (local.get $at)))
                    (local.set $other
                      (f32.load (i32.sub (i32.add (local.get $best) (local.get $at)) (i32.const 4))))
                    (br_if $found (f32.ge (local.get $other) (local.get $score)))
                    (f32.store (i32.add (local.get $best) (local.get $at)) (local.get $other))
                    (i32.store
                      (i32.add (local.get $places) (local.get $at))
                      (i32.load (i32.sub (i32.add (local.get $places) (local.get $at)) (i32.const 4))))
                    (local.set $at (i32.sub (local.get $at) (i32.const 4)))
                    (br $down)))
                (f32.store (i32.add (local.get $best) (local.get $at)) (local.get $score))
                (i32.store
                  (i32.add (local.get $places) (local.get $at))
                  (i32.add (local.get $place) (i32.shr_u (local.get $lane) (i32.const 2))))
                (local.set $least (v128.load32_splat (i32.add (local.get $best) (local.get $last))))))
            (br_if $lanes
              (i32.lt_u (local.tee $lane (i32.add (local.get $lane) (i32.const 4))) (i32.const 16))))))
      (local.set $place (i32.add (local.get $place) (i32.const 4)))
      (br_if $four
        (i32.lt_u (local.tee $scores (i32.add (local.get $scores) (i32.const 16))) (local.get $end))))))
