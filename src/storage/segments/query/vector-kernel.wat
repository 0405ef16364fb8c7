;; The inner loops of vector search. Memory 0 is a shared arena with the segments' vectors, read only; memory 1 belongs
;; to the reader and holds the query, lists of row numbers and results. Rows of int8 codes and queries are padded to
;; 16-byte blocks. `vector-kernel.test.ts` does the same in plain TypeScript, with the same results bit by bit: floats
;; are added in the same order. A name in braces is an offset in memory 1 (`kernel-layouts.ts`). All data that a call
;; needs about its column is there. After a change here or in the layout: node scripts/check-kernel.ts --write
(module
  (import "arena" "memory" (memory $arena 1 65536 shared))
  (import "scratch" "memory" (memory $scratch 1))

  ;; Writes the distances of the 16 rows of the group at $group to {distances}, as 16-bit numbers. The group has a byte
  ;; of each row, then the next byte of each, and so on, $bytes in all, an even number. {codeTables} has two tables for
  ;; each byte, one for its lower and one for its upper half: the distance for these four bits.
  (func $group_distances (param $group i32) (param $bytes i32)
    (local $end i32)
    (local $tables i32)
    (local $codes v128)
    (local $next v128)
    (local $four v128)
    (local $all v128)
    (local $odd v128)
    (local $half v128)
    (local.set $half (i8x16.splat (i32.const 15)))
    (local.set $tables (i32.const {codeTables}))
    (local.set $end (i32.add (local.get $group) (i32.shl (local.get $bytes) (i32.const 4))))
    (loop $two
      (local.set $codes (v128.load $arena (local.get $group)))
      (local.set $next (v128.load $arena offset=16 (local.get $group)))
      ;; The sum of four tables fits a byte.
      (local.set $four
        (i8x16.add
          (i8x16.add
            (i8x16.relaxed_swizzle
              (v128.load $scratch (local.get $tables))
              (v128.and (local.get $codes) (local.get $half)))
            (i8x16.relaxed_swizzle
              (v128.load $scratch offset=16 (local.get $tables))
              (v128.and (i16x8.shr_u (local.get $codes) (i32.const 4)) (local.get $half))))
          (i8x16.add
            (i8x16.relaxed_swizzle
              (v128.load $scratch offset=32 (local.get $tables))
              (v128.and (local.get $next) (local.get $half)))
            (i8x16.relaxed_swizzle
              (v128.load $scratch offset=48 (local.get $tables))
              (v128.and (i16x8.shr_u (local.get $next) (i32.const 4)) (local.get $half))))))
      ;; Odd rows are the upper bytes. The sums of even rows include the odd ones, which are subtracted at the end.
      (local.set $all (i16x8.add (local.get $all) (local.get $four)))
      (local.set $odd (i16x8.add (local.get $odd) (i16x8.shr_u (local.get $four) (i32.const 8))))
      (local.set $tables (i32.add (local.get $tables) (i32.const 64)))
      (br_if $two
        (i32.lt_u (local.tee $group (i32.add (local.get $group) (i32.const 32))) (local.get $end))))
    (local.set $all (i16x8.sub (local.get $all) (i16x8.shl (local.get $odd) (i32.const 8))))
    (v128.store $scratch offset={distances} (i32.const 0)
      (i8x16.shuffle 0 1 16 17 2 3 18 19 4 5 20 21 6 7 22 23 (local.get $all) (local.get $odd)))
    (v128.store $scratch offset={distances} (i32.const 16)
      (i8x16.shuffle 8 9 24 25 10 11 26 27 12 13 28 29 14 15 30 31 (local.get $all) (local.get $odd))))

  (func $lanes_sum (param $lanes v128) (result i32)
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $lanes)) (i32x4.extract_lane 1 (local.get $lanes)))
      (i32.add (i32x4.extract_lane 2 (local.get $lanes)) (i32x4.extract_lane 3 (local.get $lanes)))))

  ;; Finds those of $count rows from $first on, the start of a group, whose bit at {visible} is set, whose byte at
  ;; {present} is 1 and whose distance is at most $limit. Writes their numbers to {list} and their distances to
  ;; {nearDistances}, from $at on in both, and counts each by its distance at {counts}. Returns how many. A row that does
  ;; not exist has no bit.
  (func (export "near") (param $first i32) (param $count i32) (param $limit i32) (param $at i32) (result i32)
    (local $group i32)
    (local $bytes i32)
    (local $visible i32)
    (local $present i32)
    (local $end i32)
    (local $found i32)
    (local $within i32)
    (local $row i32)
    (local $distance i32)
    (local $counted i32)
    (local $limits v128)
    (local.set $bytes (i32.load $scratch offset={codeBytes} (i32.const 0)))
    (local.set $group
      (i32.add
        (i32.load $scratch offset={codes} (i32.const 0))
        (i32.mul (local.get $first) (local.get $bytes))))
    (local.set $visible (i32.shr_u (local.get $first) (i32.const 3)))
    (local.set $present (i32.add (i32.load $scratch offset={present} (i32.const 0)) (local.get $first)))
    (local.set $at (i32.shl (local.get $at) (i32.const 1)))
    (local.set $end (i32.add (local.get $first) (local.get $count)))
    (local.set $limits (i16x8.splat (local.get $limit)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $first) (local.get $end)))
        (block $none
          (local.set $within (i32.load16_u $scratch offset={visible} (local.get $visible)))
          (br_if $none (i32.eqz (local.get $within)))
          (call $group_distances (local.get $group) (local.get $bytes))
          (local.set $within
            (i32.and
              (local.get $within)
              (i8x16.bitmask
                (i8x16.narrow_i16x8_s
                  (i16x8.le_u (v128.load $scratch offset={distances} (i32.const 0)) (local.get $limits))
                  (i16x8.le_u (v128.load $scratch offset={distances} (i32.const 16)) (local.get $limits))))))
          (br_if $none (i32.eqz (local.get $within)))
          (local.set $within
            (i32.and
              (local.get $within)
              (i8x16.bitmask
                (i8x16.eq (v128.load $arena (local.get $present)) (i8x16.splat (i32.const 1))))))
          (loop $one
            (br_if $none (i32.eqz (local.get $within)))
            (local.set $row (i32.ctz (local.get $within)))
            (local.set $distance (i32.load16_u $scratch offset={distances} (i32.shl (local.get $row) (i32.const 1))))
            (i32.store16 $scratch offset={list} (local.get $at) (i32.add (local.get $first) (local.get $row)))
            (i32.store16 $scratch offset={nearDistances} (local.get $at) (local.get $distance))
            (local.set $at (i32.add (local.get $at) (i32.const 2)))
            (local.set $counted (i32.shl (local.get $distance) (i32.const 2)))
            (i32.store $scratch offset={counts}
              (local.get $counted)
              (i32.add (i32.load $scratch offset={counts} (local.get $counted)) (i32.const 1)))
            (local.set $found (i32.add (local.get $found) (i32.const 1)))
            (local.set $within (i32.and (local.get $within) (i32.sub (local.get $within) (i32.const 1))))
            (br $one)))
        (local.set $first (i32.add (local.get $first) (i32.const 16)))
        (local.set $visible (i32.add (local.get $visible) (i32.const 2)))
        (local.set $present (i32.add (local.get $present) (i32.const 16)))
        (local.set $group (i32.add (local.get $group) (i32.shl (local.get $bytes) (i32.const 4))))
        (br $next)))
    (local.get $found))

  ;; Prefetches the rows at $list, and their scales: reads a little of every 64 bytes, so that the cache misses overlap.
  ;; The result is meaningless; it is returned so that the reads are not optimised away.
  (func $prefetch (param $rows i32) (param $scales i32) (param $list i32) (param $count i32) (param $stride i32) (result i32)
    (local $number i32)
    (local $end i32)
    (local $row i32)
    (local $row_end i32)
    (local $read i32)
    (local.set $end (i32.add (local.get $list) (i32.shl (local.get $count) (i32.const 1))))
    (loop $next
      (local.set $number (i32.load16_u $scratch (local.get $list)))
      (local.set $read
        (i32.or
          (local.get $read)
          (i32.load8_u $arena (i32.add (local.get $scales) (i32.shl (local.get $number) (i32.const 2))))))
      (local.set $row (i32.add (local.get $rows) (i32.mul (local.get $number) (local.get $stride))))
      (local.set $row_end (i32.add (local.get $row) (local.get $stride)))
      (loop $line
        (local.set $read (i32.or (local.get $read) (i32.load8_u $arena (local.get $row))))
        (br_if $line
          (i32.lt_u (local.tee $row (i32.add (local.get $row) (i32.const 64))) (local.get $row_end))))
      ;; A row that does not start at a multiple of 64 bytes ends in another cache line.
      (local.set $read
        (i32.or (local.get $read) (i32.load8_u $arena (i32.sub (local.get $row_end) (i32.const 1)))))
      (br_if $next
        (i32.lt_u (local.tee $list (i32.add (local.get $list) (i32.const 2))) (local.get $end))))
    (local.get $read))

  ;; Multiplies the query's 16-bit {components} with the int8 codes of $count rows at {list}. Writes the products to
  ;; {products}, as 32-bit numbers, and the rows' scales to {productScales}.
  (func (export "products_of") (param $count i32)
    (local $rows i32)
    (local $scales i32)
    (local $blocks i32)
    (local $list i32)
    (local $out i32)
    (local $steps i32)
    (local $end i32)
    (local $number i32)
    (local $prefetched i32)
    (local $row i32)
    (local $at i32)
    (local $left i32)
    (local $sum v128)
    (local $a v128)
    (if (i32.eqz (local.get $count)) (then (return)))
    (local.set $rows (i32.load $scratch offset={rows} (i32.const 0)))
    (local.set $scales (i32.load $scratch offset={scales} (i32.const 0)))
    (local.set $blocks (i32.load $scratch offset={rowBlocks} (i32.const 0)))
    (local.set $list (i32.const {list}))
    (local.set $out (i32.const {products}))
    (local.set $steps (i32.const {productScales}))
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (loop $next
      (if (i32.eqz (local.get $prefetched))
        (then
          (local.set $prefetched (i32.shr_u (i32.sub (local.get $end) (local.get $out)) (i32.const 2)))
          (if (i32.gt_u (local.get $prefetched) (i32.const 32)) (then (local.set $prefetched (i32.const 32))))
          (drop
            (call $prefetch
              (local.get $rows)
              (local.get $scales)
              (local.get $list)
              (local.get $prefetched)
              (i32.shl (local.get $blocks) (i32.const 4))))))
      (local.set $prefetched (i32.sub (local.get $prefetched) (i32.const 1)))
      (local.set $number (i32.load16_u $scratch (local.get $list)))
      (f32.store $scratch
        (local.get $steps)
        (f32.load $arena (i32.add (local.get $scales) (i32.shl (local.get $number) (i32.const 2)))))
      (local.set $row
        (i32.add (local.get $rows) (i32.shl (i32.mul (local.get $number) (local.get $blocks)) (i32.const 4))))
      (local.set $at (i32.const {components}))
      (local.set $left (local.get $blocks))
      (local.set $sum (v128.const i32x4 0 0 0 0))
      (loop $block
        (local.set $a (v128.load $arena (local.get $row)))
        (local.set $sum
          (i32x4.add
            (local.get $sum)
            (i32x4.add
              (i32x4.dot_i16x8_s
                (i16x8.extend_low_i8x16_s (local.get $a))
                (v128.load $scratch (local.get $at)))
              (i32x4.dot_i16x8_s
                (i16x8.extend_high_i8x16_s (local.get $a))
                (v128.load $scratch offset=16 (local.get $at))))))
        (local.set $row (i32.add (local.get $row) (i32.const 16)))
        (local.set $at (i32.add (local.get $at) (i32.const 32)))
        (br_if $block (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
      (i32.store $scratch (local.get $out) (call $lanes_sum (local.get $sum)))
      (local.set $list (i32.add (local.get $list) (i32.const 2)))
      (local.set $steps (i32.add (local.get $steps) (i32.const 4)))
      (br_if $next
        (i32.lt_u (local.tee $out (i32.add (local.get $out) (i32.const 4))) (local.get $end)))))

  ;; Components of two rows, the first at $a of $scratch.
  (func $two (param $a i32) (param $b i32) (result v128)
    (f64x2.promote_low_f32x4
      (v128.load32_lane $scratch 1 (local.get $b) (v128.load32_zero $scratch (local.get $a)))))

  ;; Multiplies four rows of floats with the 64-bit components of {vector}. The first row is at {floatRows}, and each
  ;; begins $stride bytes after the one before. Writes their products and then their squares to {floatSums}, eight
  ;; 64-bit numbers. Each sum is in the order of the components; four rows at once, because every addition waits for the
  ;; one before it.
  (func (export "four_sums") (param $stride i32)
    (local $query i32)
    (local $row i32)
    (local $end i32)
    (local $component v128)
    (local $a v128)
    (local $b v128)
    (local $product_a v128)
    (local $product_b v128)
    (local $squares_a v128)
    (local $squares_b v128)
    (local.set $query (i32.const {vector}))
    (local.set $row (i32.const {floatRows}))
    (local.set $end (i32.add (local.get $row) (local.get $stride)))
    (loop $next
      (local.set $component (v128.load64_splat $scratch (local.get $query)))
      (local.set $a
        (call $two (local.get $row) (i32.add (local.get $row) (local.get $stride))))
      (local.set $b
        (call $two
          (i32.add (local.get $row) (i32.shl (local.get $stride) (i32.const 1)))
          (i32.add (local.get $row) (i32.mul (local.get $stride) (i32.const 3)))))
      (local.set $product_a
        (f64x2.add (local.get $product_a) (f64x2.mul (local.get $component) (local.get $a))))
      (local.set $product_b
        (f64x2.add (local.get $product_b) (f64x2.mul (local.get $component) (local.get $b))))
      (local.set $squares_a (f64x2.add (local.get $squares_a) (f64x2.mul (local.get $a) (local.get $a))))
      (local.set $squares_b (f64x2.add (local.get $squares_b) (f64x2.mul (local.get $b) (local.get $b))))
      (local.set $query (i32.add (local.get $query) (i32.const 8)))
      (br_if $next
        (i32.lt_u (local.tee $row (i32.add (local.get $row) (i32.const 4))) (local.get $end))))
    (v128.store $scratch offset={floatSums} (i32.const 0) (local.get $product_a))
    (v128.store $scratch offset={floatSums} (i32.const 16) (local.get $product_b))
    (v128.store $scratch offset={floatSums} (i32.const 32) (local.get $squares_a))
    (v128.store $scratch offset={floatSums} (i32.const 48) (local.get $squares_b))))
