;; Scans the shapes of terms, four at a time. The first memory is that of `term-shapes.ts`, read only: columns of four
;; bytes a term. Terms in blocks have a second copy of these columns, in the order of their block and at the same
;; distance from each other. `scan-terms.test.ts` does the same in plain TypeScript. A name in braces is an offset in
;; one of the memories, or a number, from `kernel-layouts.ts`. After a change here or there: node
;; scripts/check-kernel.ts --write
;;
;; {typed} has the letters of the typed word, {typedRepeated} the repeated ones, {length} their number, and {edits} the
;; number of errors it may have. {letterPositions} has, by letter (ASCII), a bit for each position of the letter in the
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
  ;; {missingMax} letters missing, and at most {extraMax} extra ones. Returns how many.
  (func $similar_between (param $at i32) (param $end i32) (param $columns i32) (param $found i32) (result i32)
    (local $typed_repeated i32) (local $length i32) (local $edits i32) (local $missing_max i32) (local $extra_max i32)
    (local $letters v128) (local $repeated v128) (local $missing v128) (local $extra v128) (local $typed v128)
    (local $drop_missing_1 v128) (local $drop_missing_2 v128) (local $drop_extra_1 v128) (local $drop_extra_2 v128) (local $any v128)
    (local $from i32) (local $position i32) (local $lanes i32) (local $all i32) (local $count i32)
    (local.set $typed_repeated (i32.load $scratch offset={typedRepeated} (i32.const 0)))
    (local.set $length (i32.load $scratch offset={length} (i32.const 0)))
    (local.set $edits (i32.load $scratch offset={edits} (i32.const 0)))
    (local.set $missing_max (i32.load $scratch offset={missingMax} (i32.const 0)))
    (local.set $extra_max (i32.load $scratch offset={extraMax} (i32.const 0)))
    (local.set $typed (v128.load32_splat $scratch offset={typed} (i32.const 0)))
    (local.set $drop_missing_1 (i32x4.splat (i32.ge_u (local.get $missing_max) (i32.const 1))))
    (local.set $drop_missing_2 (i32x4.splat (i32.ge_u (local.get $missing_max) (i32.const 2))))
    (local.set $drop_extra_1 (i32x4.splat (i32.ge_u (local.get $extra_max) (i32.const 1))))
    (local.set $drop_extra_2 (i32x4.splat (i32.ge_u (local.get $extra_max) (i32.const 2))))
    ;; 64 is at least twice the number of kinds of letters, so it means no limit.
    (local.set $any (i32x4.splat (i32.sub (i32.const 0) (i32.ge_u (local.get $extra_max) (i32.const 64)))))
    ;; The first check counts up to two letters: with higher limits every term goes to the second check.
    (local.set $all
      (i32.or
        (i32.gt_u (local.get $missing_max) (i32.const 2))
        (i32.and (i32.gt_u (local.get $extra_max) (i32.const 2)) (i32.lt_u (local.get $extra_max) (i32.const 64)))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        ;; Removes as many missing and extra letters as are allowed. Most terms have letters left and fail here. A branch
        ;; that checks extra letters only if few are missing would be mispredicted too often.
        (local.set $from (i32.add (local.get $columns) (i32.shl (local.get $at) (i32.const 2))))
        (local.set $letters (v128.load (local.get $from)))
        (local.set $missing (v128.andnot (local.get $typed) (local.get $letters)))
        (local.set $missing (v128.and (local.get $missing) (i32x4.sub (local.get $missing) (local.get $drop_missing_1))))
        (local.set $missing (v128.and (local.get $missing) (i32x4.sub (local.get $missing) (local.get $drop_missing_2))))
        (local.set $extra (v128.andnot (v128.andnot (local.get $letters) (local.get $typed)) (local.get $any)))
        (local.set $extra (v128.and (local.get $extra) (i32x4.sub (local.get $extra) (local.get $drop_extra_1))))
        (local.set $extra (v128.and (local.get $extra) (i32x4.sub (local.get $extra) (local.get $drop_extra_2))))
        (if
          (i32.or
            (i32x4.bitmask
              (i32x4.eq (v128.or (local.get $missing) (local.get $extra)) (v128.const i32x4 0 0 0 0)))
            (local.get $all))
          (then
            ;; Letters that occur more than once count twice.
            (local.set $repeated (v128.load offset={repeated} (local.get $from)))
            (local.set $missing
              (call $count_bits
                (v128.andnot (local.get $typed) (local.get $letters))
                (v128.andnot (i32x4.splat (local.get $typed_repeated)) (local.get $repeated))))
            (local.set $extra
              (call $count_bits
                (v128.andnot (local.get $letters) (local.get $typed))
                (v128.andnot (local.get $repeated) (i32x4.splat (local.get $typed_repeated)))))
            (local.set $lanes
              (i32x4.bitmask
                (v128.and
                  (i32x4.le_s (local.get $missing) (i32x4.splat (local.get $missing_max)))
                  (i32x4.le_s (local.get $extra) (i32x4.splat (local.get $extra_max))))))
            (block $none
              (loop $next_lane
                (br_if $none (i32.eqz (local.get $lanes)))
                (local.set $position (i32.add (local.get $at) (i32.ctz (local.get $lanes))))
                (br_if $none (i32.ge_u (local.get $position) (local.get $end)))
                (local.set $lanes (i32.and (local.get $lanes) (i32.sub (local.get $lanes) (i32.const 1))))
                ;; Always written, but only counted if its first letters allow it.
                (i32.store $scratch
                  (i32.add (local.get $found) (i32.shl (local.get $count) (i32.const 2)))
                  (local.get $position))
                (local.set $count
                  (i32.add
                    (local.get $count)
                    (call $prefix_may_match
                      (i32.add (local.get $columns) (i32.shl (local.get $position) (i32.const 2)))
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

  ;; Returns 1 if a word with the first letters of this term, or a prefix of such a word, may be similar, otherwise 0.
  ;; Reads the letters up to the first one of several bytes. Like `EditDistance`, it computes the table row by row, with
  ;; a bit for each column (Hyyrö), and only the columns of a row that can be near enough. It reads the head first, and
  ;; in blocks also the four bytes after it. Returns 1 if the typed word is too long for the bits.
  (func $prefix_may_match (param $term i32) (param $columns i32) (param $edits i32) (result i32)
    (local $head i32) (local $letter i32) (local $here i32) (local $before i32) (local $same i32) (local $more i32)
    (local $less i32) (local $beside_more i32) (local $beside_less i32) (local $shifted i32) (local $rows i32)
    (local $whole i32) (local $column i32) (local $bits i32) (local $distance i32) (local $is_next i32)
    (if (i32.gt_u (local.get $columns) (i32.const 31)) (then (return (i32.const 1))))
    (local.set $head (i32.load offset={heads} (local.get $term)))
    (local.set $more (i32.const -1))
    (local.set $whole (local.get $columns))
    (loop $next_head
      (block $read
        (loop $next
          (local.set $letter (i32.shr_u (local.get $head) (i32.const 24)))
          (br_if $read (i32.gt_u (i32.sub (local.get $letter) (i32.const 1)) (i32.const 0x7e)))
          (local.set $here (i32.load $scratch offset={letterPositions} (i32.shl (local.get $letter) (i32.const 2))))
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
      ;; A row that is longer than the typed word by more than the errors has no such column.
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
      ;; The next bytes must not be read if the head has a letter of several bytes, or the word ends in it.
      (if
        (i32.or
          (i32.lt_u (local.get $term) (i32.const {orderedLetters}))
          (i32.or (local.get $is_next) (i32.ne (local.get $rows) (i32.const 4))))
        (then (return (i32.const 1))))
      (local.set $is_next (i32.const 1))
      (br_if $next_head (local.tee $head (i32.load offset={nextBytes} (local.get $term)))))
    (i32.const 1)))
