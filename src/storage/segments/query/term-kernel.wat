;; Runs through the shapes of terms, four at a time. The memory is that of `term-shapes.ts`, read only: its columns lie
;; 0x8000000 bytes apart, four bytes a term: letters, repeated letters, heads; then lengths and roles, a byte a term. From
;; 0x1c000000 on stands where groups of blocks begin, 0x20000 bytes a block; from 0x20000000 on, in their order, letters,
;; repeated letters and heads of the terms in blocks, which they are, and the four bytes after their heads.
;; `scan-terms.ts` has the same in plain JavaScript. After a change here: node scripts/check-kernel.ts --write
;;
;; Of what was typed it gets the letters, the repeated ones, how many it has, and the errors it may have. In scratch, from 0
;; on, stands by letter (ASCII) a bit for each place of the typed word where it stands.
(module
  (import "shapes" "memory" (memory 1 65536 shared))
  (import "scratch" "memory" (memory $scratch 1))

  ;; Writes to $found, in scratch, the terms of a block that may be so near, of the groups of letters whose ranges (first one,
  ;; and the one after the last) stand at $ranges, up to $ranges_end, among those of one $grouped length. Returns how many.
  (func (export "similar_in_block")
    (param $block i32) (param $grouped i32) (param $ranges i32) (param $ranges_end i32) (param $found i32)
    (param $asked i32) (param $asked_twice i32) (param $length i32) (param $edits i32)
    (param $lacked_max i32) (param $more_max i32)
    (result i32)
    (local $first i32) (local $starts i32) (local $count i32) (local $i i32) (local $at i32)
    (local.set $first (i32.shl (local.get $block) (i32.const 18)))
    ;; 2048 groups of letters, four bytes each, for each of 16 lengths.
    (local.set $starts
      (i32.add (i32.shl (local.get $block) (i32.const 17)) (i32.shl (local.get $grouped) (i32.const 13))))
    (block $done
      (loop $next_range
        (br_if $done (i32.ge_u (local.get $ranges) (local.get $ranges_end)))
        (local.set $count
          (i32.add
            (local.get $count)
            (call $similar_between
              (i32.add
                (local.get $first)
                (call $group_start (local.get $starts) (i32.load16_u $scratch (local.get $ranges))))
              (i32.add
                (local.get $first)
                (call $group_start (local.get $starts) (i32.load16_u $scratch offset=2 (local.get $ranges))))
              (i32.const 0x20000000)
              (i32.add (local.get $found) (i32.shl (local.get $count) (i32.const 2)))
              (local.get $asked) (local.get $asked_twice) (local.get $length) (local.get $edits)
              (local.get $lacked_max) (local.get $more_max))))
        (local.set $ranges (i32.add (local.get $ranges) (i32.const 4)))
        (br $next_range)))
    ;; Places in the order of the block become terms.
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (local.set $at (i32.add (local.get $found) (i32.shl (local.get $i) (i32.const 2))))
        (i32.store $scratch
          (local.get $at)
          (i32.load offset=0x38000000 (i32.shl (i32.load $scratch (local.get $at)) (i32.const 2))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $count))

  ;; Where a group begins in the order of its block; after the last one of all is the end of the block.
  (func $group_start (param $starts i32) (param $group i32) (result i32)
    (local.set $starts (i32.add (local.get $starts) (i32.shl (local.get $group) (i32.const 2))))
    (if (i32.and (i32.eq (local.get $group) (i32.const 2048)) (i32.eqz (i32.and (local.get $starts) (i32.const 0x1ffff))))
      (then (return (i32.const 0x40000))))
    (i32.load offset=0x1c000000 (local.get $starts)))

  ;; Writes to $found those from $at on, below $end, of the columns at $columns that may be so near: no more letters lacked
  ;; than $lacked_max, and no more besides than $more_max. Returns how many.
  (func $similar_between (export "similar_between")
    (param $at i32) (param $end i32) (param $columns i32) (param $found i32)
    (param $asked i32) (param $asked_twice i32) (param $length i32) (param $edits i32)
    (param $lacked_max i32) (param $more_max i32)
    (result i32)
    (local $had v128) (local $had_twice v128) (local $lacked v128) (local $more v128) (local $askeds v128)
    (local $lacked_once v128) (local $lacked_twice v128) (local $more_once v128) (local $more_twice v128) (local $any v128)
    (local $from i32) (local $place i32) (local $lanes i32) (local $all i32) (local $count i32)
    (local.set $askeds (i32x4.splat (local.get $asked)))
    (local.set $lacked_once (i32x4.splat (i32.ge_u (local.get $lacked_max) (i32.const 1))))
    (local.set $lacked_twice (i32x4.splat (i32.ge_u (local.get $lacked_max) (i32.const 2))))
    (local.set $more_once (i32x4.splat (i32.ge_u (local.get $more_max) (i32.const 1))))
    (local.set $more_twice (i32x4.splat (i32.ge_u (local.get $more_max) (i32.const 2))))
    ;; As many as there are kinds of letters, twice: any will do.
    (local.set $any (i32x4.splat (i32.sub (i32.const 0) (i32.ge_u (local.get $more_max) (i32.const 64)))))
    ;; More than two are not told by the first look: every term gets the second.
    (local.set $all
      (i32.or
        (i32.gt_u (local.get $lacked_max) (i32.const 2))
        (i32.and (i32.gt_u (local.get $more_max) (i32.const 2)) (i32.lt_u (local.get $more_max) (i32.const 64)))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        ;; The letters that a term lacks, and those that it has besides, less as many as may be. Of most terms some are
        ;; left. To look at the others only where few are lacked would be foretold too badly.
        (local.set $from (i32.add (local.get $columns) (i32.shl (local.get $at) (i32.const 2))))
        (local.set $had (v128.load (local.get $from)))
        (local.set $lacked (v128.andnot (local.get $askeds) (local.get $had)))
        (local.set $lacked (v128.and (local.get $lacked) (i32x4.sub (local.get $lacked) (local.get $lacked_once))))
        (local.set $lacked (v128.and (local.get $lacked) (i32x4.sub (local.get $lacked) (local.get $lacked_twice))))
        (local.set $more (v128.andnot (v128.andnot (local.get $had) (local.get $askeds)) (local.get $any)))
        (local.set $more (v128.and (local.get $more) (i32x4.sub (local.get $more) (local.get $more_once))))
        (local.set $more (v128.and (local.get $more) (i32x4.sub (local.get $more) (local.get $more_twice))))
        (if
          (i32.or
            (i32x4.bitmask
              (i32x4.eq (v128.or (local.get $lacked) (local.get $more)) (v128.const i32x4 0 0 0 0)))
            (local.get $all))
          (then
            ;; Now those that are repeated too, which count twice.
            (local.set $had_twice (v128.load offset=0x8000000 (local.get $from)))
            (local.set $lacked
              (call $count_bits
                (v128.andnot (local.get $askeds) (local.get $had))
                (v128.andnot (i32x4.splat (local.get $asked_twice)) (local.get $had_twice))))
            (local.set $more
              (call $count_bits
                (v128.andnot (local.get $had) (local.get $askeds))
                (v128.andnot (local.get $had_twice) (i32x4.splat (local.get $asked_twice)))))
            (local.set $lanes
              (i32x4.bitmask
                (v128.and
                  (i32x4.le_s (local.get $lacked) (i32x4.splat (local.get $lacked_max)))
                  (i32x4.le_s (local.get $more) (i32x4.splat (local.get $more_max))))))
            (block $none
              (loop $next_lane
                (br_if $none (i32.eqz (local.get $lanes)))
                (local.set $place (i32.add (local.get $at) (i32.ctz (local.get $lanes))))
                (br_if $none (i32.ge_u (local.get $place) (local.get $end)))
                (local.set $lanes (i32.and (local.get $lanes) (i32.sub (local.get $lanes) (i32.const 1))))
                ;; Written always, counted when its first letters may lead there.
                (i32.store $scratch
                  (i32.add (local.get $found) (i32.shl (local.get $count) (i32.const 2)))
                  (local.get $place))
                (local.set $count
                  (i32.add
                    (local.get $count)
                    (call $may_go_on
                      (i32.add (local.get $columns) (i32.shl (local.get $place) (i32.const 2)))
                      (local.get $length) (local.get $edits))))
                (br $next_lane)))))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br $next)))
    (local.get $count))

  ;; How many bits the two have together, of each four bytes.
  (func $count_bits (param $a v128) (param $b v128) (result v128)
    (i32x4.extadd_pairwise_i16x8_u
      (i16x8.extadd_pairwise_i8x16_u
        (i8x16.add (i8x16.popcnt (local.get $a)) (i8x16.popcnt (local.get $b))))))

  ;; Whether words that go on from the first letters of a term, as far as those are of one byte each, or their beginnings may
  ;; be so near: 1 or 0. As `EditDistance` does it, row by row with a bit for each column; of a row only the columns are added
  ;; up that can be so near. First by the head; in blocks, where that may lead there, by the four bytes after it too. Of words
  ;; with too many letters for that it says yes.
  (func $may_go_on (param $term i32) (param $columns i32) (param $edits i32) (result i32)
    (local $head i32) (local $letter i32) (local $here i32) (local $before i32) (local $same i32) (local $more i32)
    (local $less i32) (local $beside_more i32) (local $beside_less i32) (local $shifted i32) (local $rows i32)
    (local $whole i32) (local $column i32) (local $bits i32) (local $distance i32) (local $is_second i32)
    (if (i32.gt_u (local.get $columns) (i32.const 31)) (then (return (i32.const 1))))
    (local.set $head (i32.load offset=0x10000000 (local.get $term)))
    (local.set $more (i32.const -1))
    (local.set $whole (local.get $columns))
    (loop $next_head
      (block $read
        (loop $next
          (local.set $letter (i32.shr_u (local.get $head) (i32.const 24)))
          (br_if $read (i32.gt_u (i32.sub (local.get $letter) (i32.const 1)) (i32.const 0x7e)))
          (local.set $here (i32.load $scratch (i32.shl (local.get $letter) (i32.const 2))))
          (local.set $same
            (i32.or
              (i32.or
                (i32.xor
                  (i32.add (i32.and (local.get $here) (local.get $more)) (local.get $more))
                  (local.get $more))
                (i32.or (local.get $here) (local.get $less)))
              ;; Two neighbours changed about.
              (i32.and
                (i32.shl
                  (i32.and (i32.xor (local.get $same) (i32.const -1)) (local.get $here))
                  (i32.const 1))
                (local.get $before))))
          (local.set $beside_more
            (i32.or
              (local.get $less)
              (i32.xor (i32.or (local.get $same) (local.get $more)) (i32.const -1))))
          (local.set $beside_less (i32.and (local.get $same) (local.get $more)))
          (local.set $bits (i32.sub (local.get $columns) (i32.const 1)))
          (local.set $whole
            (i32.sub
              (i32.add
                (local.get $whole)
                (i32.and (i32.shr_u (local.get $beside_more) (local.get $bits)) (i32.const 1)))
              (i32.and (i32.shr_u (local.get $beside_less) (local.get $bits)) (i32.const 1))))
          (if (i32.le_s (local.get $whole) (local.get $edits)) (then (return (i32.const 1))))
          (local.set $shifted (i32.or (i32.shl (local.get $beside_more) (i32.const 1)) (i32.const 1)))
          (local.set $more
            (i32.or
              (i32.shl (local.get $beside_less) (i32.const 1))
              (i32.xor (i32.or (local.get $same) (local.get $shifted)) (i32.const -1))))
          (local.set $less (i32.and (local.get $shifted) (local.get $same)))
          (local.set $before (local.get $here))
          (local.set $rows (i32.add (local.get $rows) (i32.const 1)))
          (br_if $next (local.tee $head (i32.shl (local.get $head) (i32.const 8))))))
      (local.set $column
        (select
          (i32.sub (local.get $rows) (local.get $edits))
          (i32.const 0)
          (i32.gt_s (local.get $rows) (local.get $edits))))
      ;; A row that is so much longer than what was typed has none.
      (if (i32.gt_u (local.get $column) (local.get $columns)) (then (return (i32.const 0))))
      (local.set $bits (i32.sub (i32.shl (i32.const 1) (local.get $column)) (i32.const 1)))
      (local.set $distance
        (i32.sub
          (i32.add (local.get $rows) (i32.popcnt (i32.and (local.get $more) (local.get $bits))))
          (i32.popcnt (i32.and (local.get $less) (local.get $bits)))))
      (block $is_near
        (loop $next
          (br_if $is_near (i32.le_s (local.get $distance) (local.get $edits)))
          (if
            (i32.or
              (i32.ge_u (local.get $column) (local.get $columns))
              (i32.ge_s (i32.sub (local.get $column) (local.get $rows)) (local.get $edits)))
            (then (return (i32.const 0))))
          (local.set $distance
            (i32.sub
              (i32.add
                (local.get $distance)
                (i32.and (i32.shr_u (local.get $more) (local.get $column)) (i32.const 1)))
              (i32.and (i32.shr_u (local.get $less) (local.get $column)) (i32.const 1))))
          (local.set $column (i32.add (local.get $column) (i32.const 1)))
          (br $next)))
      ;; Where the head had a letter of several bytes, or the word ends with it, the next bytes are not to be read.
      (if
        (i32.or
          (i32.lt_u (local.get $term) (i32.const 0x20000000))
          (i32.or (local.get $is_second) (i32.ne (local.get $rows) (i32.const 4))))
        (then (return (i32.const 1))))
      (local.set $is_second (i32.const 1))
      (br_if $next_head (local.tee $head (i32.load offset=0x20000000 (local.get $term)))))
    (i32.const 1)))
