;; Scans the shapes of terms, four at a time. The first memory is that of `term-shapes.ts`, read only: columns of four
;; bytes a term. Terms in blocks have a second copy of these columns, in the order of their block and at the same
;; distance from each other. `scan-terms.test.ts` does the same in plain TypeScript. A name in braces is an offset in
;; one of the memories, or a number, from `kernel-layouts.ts`. After a change here or there: node
;; scripts/check-kernel.ts --write
;;
;; {typed} has the letters of the typed word, {typedTwice} the repeated ones, {length} their number, and {edits} the
;; number of errors it may have. {letterPlaces} has, by letter (ASCII), a bit for each position of the letter in the
;; typed word.
(module
  (import "shapes" "memory" (memory 1 65536 shared))
  (import "scratch" "memory" (memory $scratch 1))

  ;; Writes to {found} the terms of a block that may be similar, among those of one $grouped length and of the groups of
  ;; letters in $count ranges at {ranges} (the first one, and the one after the last). Returns how many.
  (func (export "similar_in_block") (param $block i32) (param $grouped i32) (param $count i32) (result i32)
    (local $first i32) (local $starts i32) (local $ranges i32) (local $ranges_end i32) (local $found i32) (local $at i32)
    (local.set $first (i32.mul (local.get $block) (i32.const {blockTerms})))
    (local.set $starts
      (i32.add
        (i32.mul (local.get $block) (i32.const {blockStarts}))
        (i32.mul (local.get $grouped) (i32.const {lengthStarts}))))
    (local.set $ranges (i32.const {ranges}))
    (local.set $ranges_end (i32.add (local.get $ranges) (i32.shl (local.get $count) (i32.const 2))))
    (local.set $found (i32.const {found}))
    (block $done
      (loop $next_range
        (br_if $done (i32.ge_u (local.get $ranges) (local.get $ranges_end)))
        (local.set $found
          (i32.add
            (local.get $found)
            (i32.shl
              (call $similar_between
                (i32.add
                  (local.get $first)
                  (call $group_start (local.get $starts) (i32.load16_u $scratch (local.get $ranges))))
                (i32.add
                  (local.get $first)
                  (call $group_start (local.get $starts) (i32.load16_u $scratch offset=2 (local.get $ranges))))
                (i32.const {orderedLetters})
                (local.get $found))
              (i32.const 2))))
        (local.set $ranges (i32.add (local.get $ranges) (i32.const 4)))
        (br $next_range)))
    ;; Replaces positions in the order of the block by terms.
    (local.set $at (i32.const {found}))
    (block $done
      (loop $next
        (br_if $done (i32.eq (local.get $at) (local.get $found)))
        (i32.store $scratch
          (local.get $at)
          (i32.load offset={order} (i32.shl (i32.load $scratch (local.get $at)) (i32.const 2))))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br $next)))
    (i32.shr_u (i32.sub (local.get $found) (i32.const {found})) (i32.const 2)))

  ;; The start of a group in the order of its block; after the last group, the end of the block.
  (func $group_start (param $starts i32) (param $group i32) (result i32)
    (local.set $starts (i32.add (local.get $starts) (i32.shl (local.get $group) (i32.const 2))))
    (if
      (i32.and
        (i32.eq (local.get $group) (i32.const {letterGroups}))
        (i32.eqz (i32.rem_u (local.get $starts) (i32.const {blockStarts}))))
      (then (return (i32.const {blockTerms}))))
    (i32.load offset={groupStarts} (local.get $starts)))

  ;; Writes to {found} the terms from $at to before $end that may be similar, in the order of their numbers. Returns how
  ;; many.
  (func (export "similar_in_order") (param $at i32) (param $end i32) (result i32)
    (call $similar_between (local.get $at) (local.get $end) (i32.const {letters}) (i32.const {found})))

  ;; Writes to $found the terms from $at to before $end of the columns at $columns that may be similar: with at most
  ;; {lackedMax} missing letters, and at most {moreMax} additional ones. Returns how many.
  (func $similar_between (param $at i32) (param $end i32) (param $columns i32) (param $found i32) (result i32)
    (local $typed_twice i32) (local $length i32) (local $edits i32) (local $lacked_max i32) (local $more_max i32)
    (local $had v128) (local $had_twice v128) (local $lacked v128) (local $more v128) (local $askeds v128)
    (local $lacked_once v128) (local $lacked_twice v128) (local $more_once v128) (local $more_twice v128) (local $any v128)
    (local $from i32) (local $place i32) (local $lanes i32) (local $all i32) (local $count i32)
    (local.set $typed_twice (i32.load $scratch offset={typedTwice} (i32.const 0)))
    (local.set $length (i32.load $scratch offset={length} (i32.const 0)))
    (local.set $edits (i32.load $scratch offset={edits} (i32.const 0)))
    (local.set $lacked_max (i32.load $scratch offset={lackedMax} (i32.const 0)))
    (local.set $more_max (i32.load $scratch offset={moreMax} (i32.const 0)))
    (local.set $askeds (v128.load32_splat $scratch offset={typed} (i32.const 0)))
    (local.set $lacked_once (i32x4.splat (i32.ge_u (local.get $lacked_max) (i32.const 1))))
    (local.set $lacked_twice (i32x4.splat (i32.ge_u (local.get $lacked_max) (i32.const 2))))
    (local.set $more_once (i32x4.splat (i32.ge_u (local.get $more_max) (i32.const 1))))
    (local.set $more_twice (i32x4.splat (i32.ge_u (local.get $more_max) (i32.const 2))))
    ;; At least twice the number of kinds of letters: no limit.
    (local.set $any (i32x4.splat (i32.sub (i32.const 0) (i32.ge_u (local.get $more_max) (i32.const 64)))))
    ;; The first check cannot decide for more than two: every term gets the second one.
    (local.set $all
      (i32.or
        (i32.gt_u (local.get $lacked_max) (i32.const 2))
        (i32.and (i32.gt_u (local.get $more_max) (i32.const 2)) (i32.lt_u (local.get $more_max) (i32.const 64)))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        ;; The numbers of missing and of additional letters, minus the allowed numbers. Most terms fail here. A branch
        ;; that checks additional letters only if few are missing would be mispredicted too often.
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
            ;; Repeated letters, which count twice.
            (local.set $had_twice (v128.load offset={repeated} (local.get $from)))
            (local.set $lacked
              (call $count_bits
                (v128.andnot (local.get $askeds) (local.get $had))
                (v128.andnot (i32x4.splat (local.get $typed_twice)) (local.get $had_twice))))
            (local.set $more
              (call $count_bits
                (v128.andnot (local.get $had) (local.get $askeds))
                (v128.andnot (local.get $had_twice) (i32x4.splat (local.get $typed_twice)))))
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
                ;; Always written, but only counted if its first letters allow it.
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

  ;; The number of bits that the two have together, for each four bytes.
  (func $count_bits (param $a v128) (param $b v128) (result v128)
    (i32x4.extadd_pairwise_i16x8_u
      (i16x8.extadd_pairwise_i8x16_u
        (i8x16.add (i8x16.popcnt (local.get $a)) (i8x16.popcnt (local.get $b))))))

  ;; Whether words that continue the first letters of a term, as far as these are one byte each, or their prefixes may
  ;; be similar: 1 or 0. Like `EditDistance`, row by row with a bit for each column; only the columns of a row that can
  ;; be near enough are computed. First by the head; in blocks also by the four bytes after it, if the head allows it.
  ;; Returns 1 for words with too many letters.
  (func $may_go_on (param $term i32) (param $columns i32) (param $edits i32) (result i32)
    (local $head i32) (local $letter i32) (local $here i32) (local $before i32) (local $same i32) (local $more i32)
    (local $less i32) (local $beside_more i32) (local $beside_less i32) (local $shifted i32) (local $rows i32)
    (local $whole i32) (local $column i32) (local $bits i32) (local $distance i32) (local $is_second i32)
    (if (i32.gt_u (local.get $columns) (i32.const 31)) (then (return (i32.const 1))))
    (local.set $head (i32.load offset={heads} (local.get $term)))
    (local.set $more (i32.const -1))
    (local.set $whole (local.get $columns))
    (loop $next_head
      (block $read
        (loop $next
          (local.set $letter (i32.shr_u (local.get $head) (i32.const 24)))
          (br_if $read (i32.gt_u (i32.sub (local.get $letter) (i32.const 1)) (i32.const 0x7e)))
          (local.set $here (i32.load $scratch offset={letterPlaces} (i32.shl (local.get $letter) (i32.const 2))))
          (local.set $same
            (i32.or
              (i32.or
                (i32.xor
                  (i32.add (i32.and (local.get $here) (local.get $more)) (local.get $more))
                  (local.get $more))
                (i32.or (local.get $here) (local.get $less)))
              ;; Two transposed neighbours.
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
      ;; A row that exceeds the typed word by so much has none.
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
      ;; If the head has a letter of several bytes, or the word ends with it, the next bytes must not be read.
      (if
        (i32.or
          (i32.lt_u (local.get $term) (i32.const {orderedLetters}))
          (i32.or (local.get $is_second) (i32.ne (local.get $rows) (i32.const 4))))
        (then (return (i32.const 1))))
      (local.set $is_second (i32.const 1))
      (br_if $next_head (local.tee $head (i32.load offset={seconds} (local.get $term)))))
    (i32.const 1)))
