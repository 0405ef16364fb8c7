;; The inner loops of vector search. Memory 0 is a shared arena with the segments' vectors, read only; memory 1 belongs to
;; the reader and holds the query, lists of row numbers and results. Rows and queries are padded to 16-byte blocks.
;; `vector-kernel.ts` has the same in plain JavaScript, with the same results to the bit: all of this is integers.
;; After a change here: node scripts/check-kernel.ts --write
(module
  (import "arena" "memory" (memory $arena 1 65536 shared))
  (import "scratch" "memory" (memory $scratch 1))

  ;; Bits that differ between the row at $row and the query: $blocks blocks of 16 bytes. Whole words, because a processor
  ;; counts the bits of a word in one step, and those of a vector's bytes in nine.
  (func $distance (param $row i32) (param $query i32) (param $blocks i32) (result i32)
    (local $sum i64)
    (loop $block
      (local.set $sum
        (i64.add
          (local.get $sum)
          (i64.add
            (i64.popcnt
              (i64.xor (i64.load $arena (local.get $row)) (i64.load $scratch (local.get $query))))
            (i64.popcnt
              (i64.xor (i64.load $arena offset=8 (local.get $row)) (i64.load $scratch offset=8 (local.get $query)))))))
      (local.set $row (i32.add (local.get $row) (i32.const 16)))
      (local.set $query (i32.add (local.get $query) (i32.const 16)))
      (br_if $block (local.tee $blocks (i32.sub (local.get $blocks) (i32.const 1)))))
    (i32.wrap_i64 (local.get $sum)))

  (func $lanes_sum (param $lanes v128) (result i32)
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $lanes)) (i32x4.extract_lane 1 (local.get $lanes)))
      (i32.add (i32x4.extract_lane 2 (local.get $lanes)) (i32x4.extract_lane 3 (local.get $lanes)))))

  ;; Of the $count rows from $rows on, those whose distance is at most $limit: row numbers, counted from $first, at $list
  ;; and distances at $near. Written always, counted when it is near enough: no branch to mispredict. Returns how many.
  (func (export "near")
    (param $rows i32) (param $count i32) (param $query i32) (param $blocks i32) (param $limit i32) (param $first i32)
    (param $list i32) (param $near i32)
    (result i32)
    (local $end i32)
    (local $found i32)
    (local $distance i32)
    (local $q0 i64)
    (local $q1 i64)
    (local $q2 i64)
    (local $q3 i64)
    (local $q4 i64)
    (local $q5 i64)
    (local.set $end (i32.add (local.get $first) (local.get $count)))
    (local.set $q0 (i64.load $scratch (local.get $query)))
    (local.set $q1 (i64.load $scratch offset=8 (local.get $query)))
    (local.set $q2 (i64.load $scratch offset=16 (local.get $query)))
    (local.set $q3 (i64.load $scratch offset=24 (local.get $query)))
    (local.set $q4 (i64.load $scratch offset=32 (local.get $query)))
    (local.set $q5 (i64.load $scratch offset=40 (local.get $query)))
    (block $done
      (loop $row
        (br_if $done (i32.ge_u (local.get $first) (local.get $end)))
        ;; 257 to 384 dimensions, the usual size of small models, have the query at hand.
        (if (i32.eq (local.get $blocks) (i32.const 3))
          (then
            (local.set $distance
              (i32.wrap_i64
                (i64.add
                  (i64.add
                    (i64.add
                      (i64.popcnt (i64.xor (i64.load $arena offset=0 (local.get $rows)) (local.get $q0)))
                      (i64.popcnt (i64.xor (i64.load $arena offset=8 (local.get $rows)) (local.get $q1))))
                    (i64.add
                      (i64.popcnt (i64.xor (i64.load $arena offset=16 (local.get $rows)) (local.get $q2)))
                      (i64.popcnt (i64.xor (i64.load $arena offset=24 (local.get $rows)) (local.get $q3)))))
                  (i64.add
                    (i64.popcnt (i64.xor (i64.load $arena offset=32 (local.get $rows)) (local.get $q4)))
                    (i64.popcnt (i64.xor (i64.load $arena offset=40 (local.get $rows)) (local.get $q5))))))))
          (else
            (local.set $distance (call $distance (local.get $rows) (local.get $query) (local.get $blocks)))))
        (i32.store16 $scratch
          (i32.add (local.get $list) (i32.shl (local.get $found) (i32.const 1)))
          (local.get $first))
        (i32.store16 $scratch
          (i32.add (local.get $near) (i32.shl (local.get $found) (i32.const 1)))
          (local.get $distance))
        (local.set $found (i32.add (local.get $found) (i32.le_u (local.get $distance) (local.get $limit))))
        (local.set $first (i32.add (local.get $first) (i32.const 1)))
        (local.set $rows (i32.add (local.get $rows) (i32.shl (local.get $blocks) (i32.const 4))))
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
