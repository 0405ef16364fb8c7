;; Runs through the shapes of terms, four at a time. The memory is that of `term-shapes.ts`, read only: its columns lie
;; 0x8000000 bytes apart, four bytes a term: letters, repeated letters. `scan-terms.ts` has the same in plain JavaScript.
;; After a change here: node scripts/check-kernel.ts --write
(module
  (import "shapes" "memory" (memory 1 65536 shared))

  ;; The next term from $from on, below $end; -1 when there is none. Of $asked it lacks at most $lacked_max letters, and it
  ;; has at most $more_max others. Repeated ones count twice.
  (func (export "next_similar")
    (param $from i32) (param $end i32)
    (param $asked i32) (param $asked_twice i32) (param $lacked_max i32) (param $more_max i32)
    (result i32)
    (local $at i32) (local $had v128) (local $had_twice v128) (local $found v128)
    (local $askeds v128) (local $askeds_twice v128) (local $lacked_maxs v128) (local $more_maxs v128)
    (local.set $askeds (i32x4.splat (local.get $asked)))
    (local.set $askeds_twice (i32x4.splat (local.get $asked_twice)))
    (local.set $lacked_maxs (i32x4.splat (local.get $lacked_max)))
    (local.set $more_maxs (i32x4.splat (local.get $more_max)))
    (loop $next
      (if (i32.ge_s (local.get $from) (local.get $end)) (then (return (i32.const -1))))
      (local.set $at (i32.shl (local.get $from) (i32.const 2)))
      (local.set $had (v128.load (local.get $at)))
      ;; Nearly all terms end here.
      (local.set $found
        (i32x4.le_u
          (i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u
            (i8x16.popcnt (v128.andnot (local.get $askeds) (local.get $had)))))
          (local.get $lacked_maxs)))
      (if (v128.any_true (local.get $found))
        (then
          (local.set $had_twice (v128.load offset=0x8000000 (local.get $at)))
          (local.set $found
            (v128.and
              (i32x4.le_u
                (i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u (i8x16.add
                  (i8x16.popcnt (v128.andnot (local.get $askeds) (local.get $had)))
                  (i8x16.popcnt (v128.andnot (local.get $askeds_twice) (local.get $had_twice))))))
                (local.get $lacked_maxs))
              (i32x4.le_u
                (i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u (i8x16.add
                  (i8x16.popcnt (v128.andnot (local.get $had) (local.get $askeds)))
                  (i8x16.popcnt (v128.andnot (local.get $had_twice) (local.get $askeds_twice))))))
                (local.get $more_maxs))))
          (if (v128.any_true (local.get $found))
            (then (return (call $first_of (local.get $found) (local.get $from) (local.get $end)))))))
      (local.set $from (i32.add (local.get $from) (i32.const 4)))
      (br $next))
    (unreachable))

  (func $first_of (param $found v128) (param $from i32) (param $end i32) (result i32)
    (local.set $from (i32.add (local.get $from) (i32.ctz (i32x4.bitmask (local.get $found)))))
    (select (local.get $from) (i32.const -1) (i32.lt_s (local.get $from) (local.get $end)))))
