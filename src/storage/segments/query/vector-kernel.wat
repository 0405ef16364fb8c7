;; The inner loops of vector search. Memory 0 is a shared arena with the segments' vectors, read only; memory 1 belongs to
;; the reader and holds the query, lists of row numbers and results. Rows of bytes and queries are padded to 16-byte blocks.
;; `vector-kernel.ts` has the same in plain JavaScript, with the same results to the bit: what is not integers is added up in
;; the same order.
;; After a change here: node scripts/check-kernel.ts --write
(module
  (import "arena" "memory" (memory $arena 1 65536 shared))
  (import "scratch" "memory" (memory $scratch 1))

  ;; Distances of the 16 rows of the group at $group, as 16-bit numbers at 0 of $scratch. The group has a byte of each row,
  ;; then the next byte of each, and so on, $bytes in all, an even number. At $tables are two tables for each byte, one for
  ;; its lower and one for its upper half: what those four signs add.
  (func $weigh (param $group i32) (param $tables i32) (param $bytes i32)
    (local $end i32)
    (local $signs v128)
    (local $next v128)
    (local $four v128)
    (local $all v128)
    (local $odd v128)
    (local $half v128)
    (local.set $half (i8x16.splat (i32.const 15)))
    (local.set $end (i32.add (local.get $group) (i32.shl (local.get $bytes) (i32.const 4))))
    (loop $two
      (local.set $signs (v128.load $arena (local.get $group)))
      (local.set $next (v128.load $arena offset=16 (local.get $group)))
      ;; What four tables say fits a byte.
      (local.set $four
        (i8x16.add
          (i8x16.add
            (i8x16.relaxed_swizzle
              (v128.load $scratch (local.get $tables))
              (v128.and (local.get $signs) (local.get $half)))
            (i8x16.relaxed_swizzle
              (v128.load $scratch offset=16 (local.get $tables))
              (v128.and (i16x8.shr_u (local.get $signs) (i32.const 4)) (local.get $half))))
          (i8x16.add
            (i8x16.relaxed_swizzle
              (v128.load $scratch offset=32 (local.get $tables))
              (v128.and (local.get $next) (local.get $half)))
            (i8x16.relaxed_swizzle
              (v128.load $scratch offset=48 (local.get $tables))
              (v128.and (i16x8.shr_u (local.get $next) (i32.const 4)) (local.get $half))))))
      ;; Odd rows are the upper bytes. Where even rows are added up, the odd ones come along and are taken off at the end.
      (local.set $all (i16x8.add (local.get $all) (local.get $four)))
      (local.set $odd (i16x8.add (local.get $odd) (i16x8.shr_u (local.get $four) (i32.const 8))))
      (local.set $tables (i32.add (local.get $tables) (i32.const 64)))
      (br_if $two
        (i32.lt_u (local.tee $group (i32.add (local.get $group) (i32.const 32))) (local.get $end))))
    (local.set $all (i16x8.sub (local.get $all) (i16x8.shl (local.get $odd) (i32.const 8))))
    (v128.store $scratch (i32.const 0)
      (i8x16.shuffle 0 1 16 17 2 3 18 19 4 5 20 21 6 7 22 23 (local.get $all) (local.get $odd)))
    (v128.store $scratch (i32.const 16)
      (i8x16.shuffle 8 9 24 25 10 11 26 27 12 13 28 29 14 15 30 31 (local.get $all) (local.get $odd))))

  (func $lanes_sum (param $lanes v128) (result i32)
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $lanes)) (i32x4.extract_lane 1 (local.get $lanes)))
      (i32.add (i32x4.extract_lane 2 (local.get $lanes)) (i32x4.extract_lane 3 (local.get $lanes)))))

  ;; Of the $count rows in the groups from $group on, those whose bit at $visible is set, whose byte at $present is 1 and
  ;; whose distance is at most $limit: row numbers, counted from $first, at $list and distances at $near. Each adds one to
  ;; the number of its distance at $counts. Returns how many. Bits and bytes are those of the row $first and after; a row
  ;; that is not there has no bit.
  (func (export "near")
    (param $group i32) (param $count i32) (param $tables i32) (param $bytes i32) (param $limit i32) (param $first i32)
    (param $visible i32) (param $present i32) (param $list i32) (param $near i32) (param $counts i32)
    (result i32)
    (local $end i32)
    (local $found i32)
    (local $within i32)
    (local $row i32)
    (local $distance i32)
    (local $counted i32)
    (local $limits v128)
    (local.set $end (i32.add (local.get $first) (local.get $count)))
    (local.set $limits (i16x8.splat (local.get $limit)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $first) (local.get $end)))
        (block $none
          (local.set $within (i32.load16_u $scratch (local.get $visible)))
          (br_if $none (i32.eqz (local.get $within)))
          (call $weigh (local.get $group) (local.get $tables) (local.get $bytes))
          (local.set $within
            (i32.and
              (local.get $within)
              (i8x16.bitmask
                (i8x16.narrow_i16x8_s
                  (i16x8.le_u (v128.load $scratch (i32.const 0)) (local.get $limits))
                  (i16x8.le_u (v128.load $scratch (i32.const 16)) (local.get $limits))))))
          (br_if $none (i32.eqz (local.get $within)))
          (local.set $within
            (i32.and
              (local.get $within)
              (i8x16.bitmask
                (i8x16.eq (v128.load $arena (local.get $present)) (i8x16.splat (i32.const 1))))))
          (loop $one
            (br_if $none (i32.eqz (local.get $within)))
            (local.set $row (i32.ctz (local.get $within)))
            (local.set $distance (i32.load16_u $scratch (i32.shl (local.get $row) (i32.const 1))))
            (i32.store16 $scratch
              (i32.add (local.get $list) (i32.shl (local.get $found) (i32.const 1)))
              (i32.add (local.get $first) (local.get $row)))
            (i32.store16 $scratch
              (i32.add (local.get $near) (i32.shl (local.get $found) (i32.const 1)))
              (local.get $distance))
            (local.set $counted (i32.add (local.get $counts) (i32.shl (local.get $distance) (i32.const 2))))
            (i32.store $scratch
              (local.get $counted)
              (i32.add (i32.load $scratch (local.get $counted)) (i32.const 1)))
            (local.set $found (i32.add (local.get $found) (i32.const 1)))
            (local.set $within (i32.and (local.get $within) (i32.sub (local.get $within) (i32.const 1))))
            (br $one)))
        (local.set $first (i32.add (local.get $first) (i32.const 16)))
        (local.set $visible (i32.add (local.get $visible) (i32.const 2)))
        (local.set $present (i32.add (local.get $present) (i32.const 16)))
        (local.set $group (i32.add (local.get $group) (i32.shl (local.get $bytes) (i32.const 4))))
        (br $next)))
    (local.get $found))

  ;; Reads a little of every 64 bytes of the rows at $list, and their scales: they come from memory all at once, where a row
  ;; after the other would be waited for. What is read is of no use, and is returned so that it is read.
  (func $fetch (param $rows i32) (param $scales i32) (param $list i32) (param $count i32) (param $stride i32) (result i32)
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
      ;; A row that does not begin with 64 such bytes ends in others.
      (local.set $read
        (i32.or (local.get $read) (i32.load8_u $arena (i32.sub (local.get $row_end) (i32.const 1)))))
      (br_if $next
        (i32.lt_u (local.tee $list (i32.add (local.get $list) (i32.const 2))) (local.get $end))))
    (local.get $read))

  ;; Products of the query's 16-bit components with the signed bytes of the rows at $list, as 32-bit numbers at $out, and
  ;; the rows' scales at $steps.
  (func (export "products_of") (param $rows i32) (param $scales i32) (param $list i32) (param $count i32)
    (param $query i32) (param $blocks i32) (param $out i32) (param $steps i32)
    (local $end i32)
    (local $number i32)
    (local $fetched i32)
    (local $row i32)
    (local $at i32)
    (local $left i32)
    (local $sum v128)
    (local $a v128)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (if (i32.eqz (local.get $count)) (then (return)))
    (loop $next
      (if (i32.eqz (local.get $fetched))
        (then
          (local.set $fetched (i32.shr_u (i32.sub (local.get $end) (local.get $out)) (i32.const 2)))
          (if (i32.gt_u (local.get $fetched) (i32.const 32)) (then (local.set $fetched (i32.const 32))))
          (drop
            (call $fetch
              (local.get $rows)
              (local.get $scales)
              (local.get $list)
              (local.get $fetched)
              (i32.shl (local.get $blocks) (i32.const 4))))))
      (local.set $fetched (i32.sub (local.get $fetched) (i32.const 1)))
      (local.set $number (i32.load16_u $scratch (local.get $list)))
      (f32.store $scratch
        (local.get $steps)
        (f32.load $arena (i32.add (local.get $scales) (i32.shl (local.get $number) (i32.const 2)))))
      (local.set $row
        (i32.add (local.get $rows) (i32.shl (i32.mul (local.get $number) (local.get $blocks)) (i32.const 4))))
      (local.set $at (local.get $query))
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

  ;; Of four rows of floats, the first at $row and each $stride after the one before: their products with the 64-bit
  ;; components at $query, then their squares, as eight 64-bit numbers at $out. Each is added up in the order of the
  ;; components; four at once because every addition waits for the one before it.
  (func (export "four_sums") (param $query i32) (param $row i32) (param $stride i32) (param $out i32)
    (local $end i32)
    (local $component v128)
    (local $a v128)
    (local $b v128)
    (local $product_a v128)
    (local $product_b v128)
    (local $squares_a v128)
    (local $squares_b v128)
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
    (v128.store $scratch (local.get $out) (local.get $product_a))
    (v128.store $scratch offset=16 (local.get $out) (local.get $product_b))
    (v128.store $scratch offset=32 (local.get $out) (local.get $squares_a))
    (v128.store $scratch offset=48 (local.get $out) (local.get $squares_b))))
