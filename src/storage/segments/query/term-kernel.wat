;; Runs through the shapes of terms, four at a time. The memory is that of `term-shapes.ts`, read only: its columns lie
;; 0x8000000 bytes apart, four bytes a term: letters, repeated letters, heads; then lengths and roles, a byte a term,
;; 0x2000000 bytes apart. Then of blocks their order, two bytes a term; from 0x20000000 on, in that order, letters, repeated
;; letters, heads and lengths; and from 0x3a000000 on where groups begin, 8192 bytes a block.
;; `scan-terms.ts` has the same in plain JavaScript. After a change here: node scripts/check-kernel.ts --write
(module
  (import "shapes" "memory" (memory 1 65536 shared))
  (import "scratch" "memory" (memory $scratch 1))

  ;; Writes to $found, in scratch, the terms of a block that may be so near, each with its head, of the groups whose ranges
  ;; (first one, and the one after the last) stand at $ranges, up to $ranges_end. Returns how many.
  (func (export "similar_in_block")
    (param $block i32) (param $ranges i32) (param $ranges_end i32) (param $found i32)
    (param $asked i32) (param $asked_twice i32) (param $length i32) (param $edits i32) (param $as_beginning i32)
    (result i32)
    (local $first i32) (local $at i32) (local $end i32) (local $place i32) (local $to i32) (local $count i32)
    (local $had v128) (local $lacked v128) (local $more v128)
    (local $askeds v128) (local $once v128) (local $twice v128) (local $any v128) (local $lanes i32) (local $all i32)
    ;; As below.
    (local.set $askeds (i32x4.splat (local.get $asked)))
    (local.set $once (i32x4.splat (i32.ge_u (local.get $edits) (i32.const 1))))
    (local.set $twice (i32x4.splat (i32.ge_u (local.get $edits) (i32.const 2))))
    (local.set $any (i32x4.splat (i32.sub (i32.const 0) (local.get $as_beginning))))
    (local.set $all (select (i32.const 15) (i32.const 0) (i32.gt_u (local.get $edits) (i32.const 2))))
    (local.set $first (i32.shl (local.get $block) (i32.const 16)))
    (loop $next_range
      (if (i32.ge_u (local.get $ranges) (local.get $ranges_end)) (then (return (local.get $count))))
      (local.set $at
        (i32.add
          (local.get $first)
          (call $group_start (local.get $block) (i32.load16_u $scratch (local.get $ranges)))))
      (local.set $end
        (i32.add
          (local.get $first)
          (call $group_start (local.get $block) (i32.load16_u $scratch offset=2 (local.get $ranges)))))
      (local.set $ranges (i32.add (local.get $ranges) (i32.const 4)))
      (loop $next
        (br_if $next_range (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $had (v128.load offset=0x20000000 (i32.shl (local.get $at) (i32.const 2))))
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
        (block $none
          (loop $next_lane
            (br_if $none (i32.eqz (local.get $lanes)))
            (local.set $place (i32.add (local.get $at) (i32.ctz (local.get $lanes))))
            (br_if $none (i32.ge_u (local.get $place) (local.get $end)))
            (local.set $lanes (i32.and (local.get $lanes) (i32.sub (local.get $lanes) (i32.const 1))))
            (br_if $next_lane
              (i32.eqz
                (call $may_be
                  (i32.load offset=0x20000000 (i32.shl (local.get $place) (i32.const 2)))
                  (i32.load offset=0x28000000 (i32.shl (local.get $place) (i32.const 2)))
                  (i32.load8_u offset=0x38000000 (local.get $place))
                  (local.get $asked) (local.get $asked_twice) (local.get $length) (local.get $edits)
                  (local.get $as_beginning))))
            (local.set $to (i32.add (local.get $found) (i32.shl (local.get $count) (i32.const 3))))
            (i32.store $scratch
              (local.get $to)
              (i32.or
                (local.get $first)
                (i32.load16_u offset=0x1c000000 (i32.shl (local.get $place) (i32.const 1)))))
            (i32.store $scratch offset=4
              (local.get $to)
              (i32.load offset=0x30000000 (i32.shl (local.get $place) (i32.const 2))))
            (local.set $count (i32.add (local.get $count) (i32.const 1)))
            (br $next_lane)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br $next))
      (unreachable))
    (unreachable))

  ;; Where a group begins in the order of its block; after the last one is the end of the block.
  (func $group_start (param $block i32) (param $group i32) (result i32)
    (if (i32.eq (local.get $group) (i32.const 2048)) (then (return (i32.const 65536))))
    (i32.load offset=0x3a000000
      (i32.add (i32.shl (local.get $block) (i32.const 13)) (i32.shl (local.get $group) (i32.const 2)))))

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
                (i32.load (i32.shl (local.get $term) (i32.const 2)))
                (i32.load offset=0x8000000 (i32.shl (local.get $term) (i32.const 2)))
                (i32.load8_u offset=0x18000000 (local.get $term))
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
    (param $had i32) (param $had_twice i32) (param $letters i32)
    (param $asked i32) (param $asked_twice i32) (param $length i32) (param $edits i32) (param $as_beginning i32)
    (result i32)
    (local $longer i32) (local $lacked i32) (local $more i32)
    ;; Letters that are repeated count twice.
    (local.set $lacked
      (i32.add
        (i32.popcnt (i32.and (local.get $asked) (i32.xor (local.get $had) (i32.const -1))))
        (i32.popcnt (i32.and (local.get $asked_twice) (i32.xor (local.get $had_twice) (i32.const -1))))))
    (local.set $longer (i32.sub (local.get $letters) (local.get $length)))
    (if (local.get $as_beginning)
      (then
        (return
          (i32.and
            (i32.le_s (local.get $lacked) (local.get $edits))
            (i32.ge_s (i32.add (local.get $longer) (local.get $edits)) (i32.const 0))))))
    (local.set $more
      (i32.add
        (i32.popcnt (i32.and (local.get $had) (i32.xor (local.get $asked) (i32.const -1))))
        (i32.popcnt (i32.and (local.get $had_twice) (i32.xor (local.get $asked_twice) (i32.const -1))))))
    ;; Every letter that makes a word longer is an error of its own, that none which it lacks can be; and the other way round.
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
