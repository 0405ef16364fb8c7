;; Runs through the shapes of terms, four at a time. The memory is that of `term-shapes.ts`, read only: its columns lie
;; 0x8000000 bytes apart, four bytes a term: letters, repeated letters, heads; then lengths and roles, a byte a term.
;; `scan-terms.ts` has the same in plain JavaScript. After a change here: node scripts/check-kernel.ts --write
(module
  (import "shapes" "memory" (memory 1 65536 shared))

  ;; The next term from $from on, below $end, that may be $edits typing errors away from a word with these letters, or have
  ;; a beginning that is; -1 when there is none.
  (func (export "next_similar")
    (param $from i32) (param $end i32)
    (param $asked i32) (param $asked_twice i32) (param $length i32) (param $edits i32) (param $as_beginning i32)
    (result i32)
    (local $had v128) (local $lacked v128) (local $more v128)
    (local $askeds v128) (local $once v128) (local $twice v128) (local $any v128)
    (local $lanes i32) (local $all i32) (local $term i32)
    (local.set $askeds (i32x4.splat (local.get $asked)))
    (local.set $once (i32x4.splat (i32.ge_u (local.get $edits) (i32.const 1))))
    (local.set $twice (i32x4.splat (i32.ge_u (local.get $edits) (i32.const 2))))
    (local.set $any (i32x4.splat (i32.sub (i32.const 0) (local.get $as_beginning))))
    ;; More errors than two are not told by what follows: every term is looked at.
    (local.set $all (select (i32.const 15) (i32.const 0) (i32.gt_u (local.get $edits) (i32.const 2))))
    (loop $next
      (if (i32.ge_s (local.get $from) (local.get $end)) (then (return (i32.const -1))))
      ;; The letters that a term lacks, and those that it has besides, less one for every error. Of nearly all terms some
      ;; are left. To look at the others only where few are lacked would be foretold too badly.
      (local.set $had (v128.load (i32.shl (local.get $from) (i32.const 2))))
      (local.set $lacked (v128.andnot (local.get $askeds) (local.get $had)))
      (local.set $lacked (v128.and (local.get $lacked) (i32x4.sub (local.get $lacked) (local.get $once))))
      (local.set $lacked (v128.and (local.get $lacked) (i32x4.sub (local.get $lacked) (local.get $twice))))
      (local.set $more (v128.andnot (v128.andnot (local.get $had) (local.get $askeds)) (local.get $any)))
      (local.set $more (v128.and (local.get $more) (i32x4.sub (local.get $more) (local.get $once))))
      (local.set $more (v128.and (local.get $more) (i32x4.sub (local.get $more) (local.get $twice))))
      (local.set $lanes
        (i32.or
          (i32x4.bitmask
            (i32x4.eq (v128.or (local.get $lacked) (local.get $more)) (v128.const i32x4 0 0 0 0)))
          (local.get $all)))
      (if (local.get $lanes)
        (then
          (loop $next_lane
            (local.set $term (i32.add (local.get $from) (i32.ctz (local.get $lanes))))
            (if (i32.ge_s (local.get $term) (local.get $end)) (then (return (i32.const -1))))
            (if
              (call $may_be
                (local.get $term)
                (local.get $asked) (local.get $asked_twice) (local.get $length) (local.get $edits)
                (local.get $as_beginning))
              (then (return (local.get $term))))
            (br_if $next_lane
              (local.tee $lanes
                (i32.and (local.get $lanes) (i32.sub (local.get $lanes) (i32.const 1))))))))
      (local.set $from (i32.add (local.get $from) (i32.const 4)))
      (br $next))
    (unreachable))

  (func $may_be
    (param $term i32)
    (param $asked i32) (param $asked_twice i32) (param $length i32) (param $edits i32) (param $as_beginning i32)
    (result i32)
    (local $at i32) (local $had i32) (local $had_twice i32) (local $longer i32) (local $lacked i32) (local $more i32)
    ;; No text has it as a word.
    (if (i32.eqz (i32.and (i32.load8_u offset=0x1a000000 (local.get $term)) (i32.const 1)))
      (then (return (i32.const 0))))
    (local.set $at (i32.shl (local.get $term) (i32.const 2)))
    (local.set $had (i32.load (local.get $at)))
    (local.set $had_twice (i32.load offset=0x8000000 (local.get $at)))
    (local.set $longer (i32.sub (i32.load8_u offset=0x18000000 (local.get $term)) (local.get $length)))
    ;; Letters that are repeated count twice.
    (local.set $lacked
      (i32.add
        (i32.popcnt (i32.and (local.get $asked) (i32.xor (local.get $had) (i32.const -1))))
        (i32.popcnt (i32.and (local.get $asked_twice) (i32.xor (local.get $had_twice) (i32.const -1))))))
    (if (local.get $as_beginning)
      (then
        (return
          (i32.and
            (i32.le_s (local.get $lacked) (local.get $edits))
            (i32.ge_s (i32.add (local.get $longer) (local.get $edits)) (i32.const 0))))))
    ;; Every letter that makes a word longer is an error of its own, that none which it lacks can be; and the other way round.
    (local.set $more
      (i32.add
        (i32.popcnt (i32.and (local.get $had) (i32.xor (local.get $asked) (i32.const -1))))
        (i32.popcnt (i32.and (local.get $had_twice) (i32.xor (local.get $asked_twice) (i32.const -1))))))
    (i32.and
      (i32.le_s
        (local.get $lacked)
        (select
          (i32.sub (local.get $edits) (local.get $longer))
          (local.get $edits)
          (i32.gt_s (local.get $longer) (i32.const 0))))
      (i32.le_s
        (local.get $more)
        (select
          (i32.add (local.get $edits) (local.get $longer))
          (local.get $edits)
          (i32.lt_s (local.get $longer) (i32.const 0)))))))
