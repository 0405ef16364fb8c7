;; The inner loops of vector search. Memory 0 is a shared arena with the segments' vectors, read only; memory 1 belongs to
;; the reader and holds the query, lists of row numbers and results. Rows and queries are padded to 16-byte blocks.
;; `vector-kernel.ts` has the same in plain JavaScript, with the same results to the bit: all of this is integers.
;; After a change here: node scripts/check-kernel.ts --write
(module
  (import "arena" "memory" (memory $arena 1 65536 shared))
  (import "scratch" "memory" (memory $scratch 1))

  ;; Bits that differ between the row at $row and the query: $blocks blocks of 16 bytes.
  ;; Byte lanes hold at most 8 a block, so they are widened after 31 blocks (3,968 dimensions) at the latest.
  (func $distance (param $row i32) (param $query i32) (param $blocks i32) (result i32)
    (local $lanes v128)
    (local $sum v128)
    (local $count i32)
    (loop $block
      (local.set $lanes
        (i8x16.add
          (local.get $lanes)
          (i8x16.popcnt
            (v128.xor (v128.load $arena (local.get $row)) (v128.load $scratch (local.get $query))))))
      (local.set $row (i32.add (local.get $row) (i32.const 16)))
      (local.set $query (i32.add (local.get $query) (i32.const 16)))
      (local.set $blocks (i32.sub (local.get $blocks) (i32.const 1)))
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (if (i32.or (i32.eqz (local.get $blocks)) (i32.eq (local.get $count) (i32.const 31)))
        (then
          (local.set $sum
            (i32x4.add
              (local.get $sum)
              (i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u (local.get $lanes)))))
          (local.set $lanes (v128.const i32x4 0 0 0 0))
          (local.set $count (i32.const 0))))
      (br_if $block (local.get $blocks)))
    (call $lanes_sum (local.get $sum)))

  (func $lanes_sum (param $lanes v128) (result i32)
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $lanes)) (i32x4.extract_lane 1 (local.get $lanes)))
      (i32.add (i32x4.extract_lane 2 (local.get $lanes)) (i32x4.extract_lane 3 (local.get $lanes)))))

  ;; Differing bits of one row of three blocks, in eight lanes.
  (func $counts (param $row i32) (param $q0 v128) (param $q1 v128) (param $q2 v128) (result v128)
    (i16x8.extadd_pairwise_i8x16_u
      (i8x16.add
        (i8x16.add
          (i8x16.popcnt (v128.xor (v128.load $arena (local.get $row)) (local.get $q0)))
          (i8x16.popcnt (v128.xor (v128.load $arena offset=16 (local.get $row)) (local.get $q1))))
        (i8x16.popcnt (v128.xor (v128.load $arena offset=32 (local.get $row)) (local.get $q2))))))

  ;; Distances of all rows from $rows on, as 16-bit numbers at $out.
  (func (export "distances") (param $rows i32) (param $count i32) (param $query i32) (param $blocks i32) (param $out i32)
    (local $end i32)
    (local $q0 v128)
    (local $q1 v128)
    (local $q2 v128)
    (local $a v128)
    (local $b v128)
    (local $c v128)
    (local $d v128)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 1))))
    (block $done
    (br_if $done (i32.eqz (local.get $count)))
    ;; 257 to 384 dimensions, the usual size of small models, four rows at a time: adding across lanes costs more than
    ;; counting, and four rows share it.
    (if (i32.eq (local.get $blocks) (i32.const 3))
      (then
        (local.set $q0 (v128.load $scratch (local.get $query)))
        (local.set $q1 (v128.load $scratch offset=16 (local.get $query)))
        (local.set $q2 (v128.load $scratch offset=32 (local.get $query)))
        (block $single
          (loop $four
            (br_if $single
              (i32.gt_u (i32.add (local.get $out) (i32.const 8)) (local.get $end)))
            (local.set $a (call $counts (local.get $rows) (local.get $q0) (local.get $q1) (local.get $q2)))
            (local.set $b
              (call $counts (i32.add (local.get $rows) (i32.const 48)) (local.get $q0) (local.get $q1) (local.get $q2)))
            (local.set $c
              (call $counts (i32.add (local.get $rows) (i32.const 96)) (local.get $q0) (local.get $q1) (local.get $q2)))
            (local.set $d
              (call $counts (i32.add (local.get $rows) (i32.const 144)) (local.get $q0) (local.get $q1) (local.get $q2)))
            ;; Eight lanes a row become four, two rows to a vector; then two, four rows to a vector; then one.
            (local.set $a
              (i16x8.add
                (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $a) (local.get $b))
                (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $a) (local.get $b))))
            (local.set $c
              (i16x8.add
                (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $c) (local.get $d))
                (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $c) (local.get $d))))
            (local.set $a
              (i32x4.extadd_pairwise_i16x8_u
                (i16x8.add
                  (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27 (local.get $a) (local.get $c))
                  (i8x16.shuffle 4 5 6 7 12 13 14 15 20 21 22 23 28 29 30 31 (local.get $a) (local.get $c)))))
            (v128.store64_lane $scratch 0 (local.get $out) (i16x8.narrow_i32x4_u (local.get $a) (local.get $a)))
            (local.set $rows (i32.add (local.get $rows) (i32.const 192)))
            (local.set $out (i32.add (local.get $out) (i32.const 8)))
            (br $four)))
        (br_if $done (i32.ge_u (local.get $out) (local.get $end)))))
    (loop $row
      (i32.store16 $scratch (local.get $out)
        (call $distance (local.get $rows) (local.get $query) (local.get $blocks)))
      (local.set $rows (i32.add (local.get $rows) (i32.shl (local.get $blocks) (i32.const 4))))
      (br_if $row
        (i32.lt_u (local.tee $out (i32.add (local.get $out) (i32.const 2))) (local.get $end))))))

  ;; Of the $count distances at $out, those of at most $limit: row numbers, counted from $first, at $list and distances at
  ;; $near. Written always, counted when it is near enough: no branch to mispredict. Returns how many.
  (func (export "within")
    (param $out i32) (param $count i32) (param $limit i32) (param $first i32) (param $list i32) (param $near i32)
    (result i32)
    (local $end i32)
    (local $found i32)
    (local $distance i32)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 1))))
    (block $done
      (loop $row
        (br_if $done (i32.ge_u (local.get $out) (local.get $end)))
        (local.set $distance (i32.load16_u $scratch (local.get $out)))
        (i32.store16 $scratch
          (i32.add (local.get $list) (i32.shl (local.get $found) (i32.const 1)))
          (local.get $first))
        (i32.store16 $scratch
          (i32.add (local.get $near) (i32.shl (local.get $found) (i32.const 1)))
          (local.get $distance))
        (local.set $found (i32.add (local.get $found) (i32.le_u (local.get $distance) (local.get $limit))))
        (local.set $first (i32.add (local.get $first) (i32.const 1)))
        (local.set $out (i32.add (local.get $out) (i32.const 2)))
        (br $row)))
    (local.get $found))

  ;; Distances of the rows whose 16-bit numbers stand at $list.
  (func (export "distances_of") (param $rows i32) (param $list i32) (param $count i32) (param $query i32)
    (param $blocks i32) (param $out i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 1))))
    (if (i32.eqz (local.get $count)) (then (return)))
    (loop $row
      (i32.store16 $scratch (local.get $out)
        (call $distance
          (i32.add
            (local.get $rows)
            (i32.shl (i32.mul (i32.load16_u $scratch (local.get $list)) (local.get $blocks)) (i32.const 4)))
          (local.get $query)
          (local.get $blocks)))
      (local.set $list (i32.add (local.get $list) (i32.const 2)))
      (br_if $row
        (i32.lt_u (local.tee $out (i32.add (local.get $out) (i32.const 2))) (local.get $end)))))

  ;; For the rows at $list, the weights of the components whose signs differ from the query's, added up, as 32-bit numbers
  ;; at $out. Weights go up to 15: $planes has their four bits, one plane of $blocks blocks each, the highest first.
  (func (export "weights_of") (param $rows i32) (param $list i32) (param $count i32) (param $query i32) (param $planes i32)
    (param $blocks i32) (param $out i32)
    (local $end i32)
    (local $row i32)
    (local $at i32)
    (local $plane i32)
    (local $stride i32)
    (local $differ v128)
    (local $weights v128)
    (local $sum v128)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (local.set $stride (i32.shl (local.get $blocks) (i32.const 4)))
    (if (i32.eqz (local.get $count)) (then (return)))
    (loop $next
      (local.set $row
        (i32.add (local.get $rows) (i32.mul (i32.load16_u $scratch (local.get $list)) (local.get $stride))))
      (local.set $at (i32.const 0))
      (local.set $sum (v128.const i32x4 0 0 0 0))
      (loop $block
        (local.set $differ
          (v128.xor
            (v128.load $arena (i32.add (local.get $row) (local.get $at)))
            (v128.load $scratch (i32.add (local.get $query) (local.get $at)))))
        ;; From the highest bit down: what was counted so far counts double. Eight bits of weight 15 fit a byte.
        (local.set $plane (i32.add (local.get $planes) (local.get $at)))
        (local.set $weights
          (i8x16.popcnt (v128.and (local.get $differ) (v128.load $scratch (local.get $plane)))))
        (local.set $plane (i32.add (local.get $plane) (local.get $stride)))
        (local.set $weights
          (i8x16.add
            (i8x16.add (local.get $weights) (local.get $weights))
            (i8x16.popcnt (v128.and (local.get $differ) (v128.load $scratch (local.get $plane))))))
        (local.set $plane (i32.add (local.get $plane) (local.get $stride)))
        (local.set $weights
          (i8x16.add
            (i8x16.add (local.get $weights) (local.get $weights))
            (i8x16.popcnt (v128.and (local.get $differ) (v128.load $scratch (local.get $plane))))))
        (local.set $plane (i32.add (local.get $plane) (local.get $stride)))
        (local.set $weights
          (i8x16.add
            (i8x16.add (local.get $weights) (local.get $weights))
            (i8x16.popcnt (v128.and (local.get $differ) (v128.load $scratch (local.get $plane))))))
        (local.set $sum
          (i32x4.add
            (local.get $sum)
            (i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u (local.get $weights)))))
        (br_if $block
          (i32.lt_u
            (local.tee $at (i32.add (local.get $at) (i32.const 16)))
            (local.get $stride))))
      (i32.store $scratch (local.get $out) (call $lanes_sum (local.get $sum)))
      (local.set $list (i32.add (local.get $list) (i32.const 2)))
      (br_if $next
        (i32.lt_u (local.tee $out (i32.add (local.get $out) (i32.const 4))) (local.get $end)))))

  ;; Products of the query's 16-bit components with the signed bytes of the rows at $list, as 32-bit numbers at $out.
  (func (export "products_of") (param $rows i32) (param $list i32) (param $count i32) (param $query i32)
    (param $blocks i32) (param $out i32)
    (local $end i32)
    (local $row i32)
    (local $at i32)
    (local $left i32)
    (local $sum v128)
    (local $a v128)
    (local.set $end (i32.add (local.get $out) (i32.shl (local.get $count) (i32.const 2))))
    (if (i32.eqz (local.get $count)) (then (return)))
    (loop $next
      (local.set $row
        (i32.add
          (local.get $rows)
          (i32.shl (i32.mul (i32.load16_u $scratch (local.get $list)) (local.get $blocks)) (i32.const 4))))
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
      (br_if $next
        (i32.lt_u (local.tee $out (i32.add (local.get $out) (i32.const 4))) (local.get $end))))))
