;; The inner loops of keyword search over one segment. Memory 0 is the shared arena with the segment, read only; memory
;; 1 belongs to the reader: tables, scores, lists. `walk-postings.ts` and `match-phrase.ts` do the same in plain
;; TypeScript, with the same results bit by bit, because the operations and their order are the same. After a change
;; here or in the layout: node scripts/check-kernel.ts --write
;;
;; A name in braces is an offset in memory 1 (`kernel-layouts.ts`). All data that a call needs about its segment and its
;; term is there: {words} has the offset of the section `chunkWord`, {deletedAt} is 0 if nothing is deleted.
;;
;; A posting is not scored but deferred if its chunk's class has a list of windows (table entry 255) or its frequencies
;; are an exception (code 255). The caller scores these.
(module
  (import "arena" "memory" (memory $arena 1 65536 shared))
  (import "scratch" "memory" (memory $scratch 1))

  ;; The addresses of the chunks and the codes of the postings from $from on.
  (func $chunks_from (param $from i32) (result i32)
    (i32.add (i32.load $scratch offset={postingChunks} (i32.const 0)) (i32.shl (local.get $from) (i32.const 1))))

  (func $codes_from (param $from i32) (result i32)
    (i32.add (i32.load $scratch offset={postingCodes} (i32.const 0)) (local.get $from)))

  ;; The mask of a chunk whose class has the table entry $entry, 4 or more.
  (func $timed (param $entry i32) (param $chunk i32) (result i32)
    (local $published f64)
    (if (i32.eq (local.get $entry) (i32.const 255)) (then (return (i32.const 255))))
    (local.set $published
      (f64.load $arena
        (i32.add
          (i32.load $scratch offset={published} (i32.const 0))
          (i32.shl
            (i32.load16_u $arena
              (i32.add
                (i32.load $scratch offset={documents} (i32.const 0))
                (i32.shl (local.get $chunk) (i32.const 1))))
            (i32.const 3)))))
    (local.set $entry (i32.sub (local.get $entry) (i32.const 4)))
    (i32.or
      (i32.load8_u $scratch offset={ruleAlways} (local.get $entry))
      (select
        (i32.load8_u $scratch offset={ruleMasks} (local.get $entry))
        (i32.const 0)
        (i32.and
          (f64.ge (local.get $published) (f64.load $scratch offset={rulesFrom} (i32.shl (local.get $entry) (i32.const 3))))
          (f64.lt (local.get $published) (f64.load $scratch offset={rulesTo} (i32.shl (local.get $entry) (i32.const 3))))))))

  ;; The length of the only field that the mask opens: 1 the title, 2 the body; $word has the length of both. -1 for the
  ;; title of a chunk that is not the one that counts for it.
  (func $one_field (param $mask i32) (param $word i32) (param $chunk i32) (result i32)
    (local $version i32) (local $in_title i32)
    (local.set $version (call $version_of (local.get $chunk)))
    (local.set $in_title
      (i32.load $arena
        (i32.add
          (i32.load $scratch offset={titleLengths} (i32.const 0))
          (i32.shl (local.get $version) (i32.const 2)))))
    (if (i32.eq (local.get $mask) (i32.const 2))
      (then (return (i32.sub (i32.and (local.get $word) (i32.const 0xffff)) (local.get $in_title)))))
    (select
      (local.get $in_title)
      (i32.const -1)
      (i32.eq
        (local.get $chunk)
        (i32.load16_u $arena
          (i32.add
            (i32.load $scratch offset={titleChunks} (i32.const 0))
            (i32.shl (local.get $version) (i32.const 1)))))))

  (func $version_of (param $chunk i32) (result i32)
    (i32.load16_u $arena
      (i32.add
        (i32.load $scratch offset={versions} (i32.const 0))
        (i32.shl (local.get $chunk) (i32.const 1)))))

  ;; Sets the bits at {marks} of the chunks of those of $count postings from $from on whose code is $code_min or more.
  (func (export "mark") (param $from i32) (param $count i32) (param $code_min i32)
    (local $chunks i32) (local $codes i32) (local $i i32) (local $bits i32)
    (local.set $chunks (call $chunks_from (local.get $from)))
    (local.set $codes (call $codes_from (local.get $from)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        ;; The last ones are read one at a time, because another segment may follow them.
        (if (i32.le_u (i32.add (local.get $i) (i32.const 16)) (local.get $count))
          (then
            (local.set $bits
              (i8x16.bitmask
                (i8x16.ge_u
                  (v128.load $arena (i32.add (local.get $codes) (local.get $i)))
                  (i8x16.splat (local.get $code_min)))))
            (block $marked
              (loop $next_bit
                (br_if $marked (i32.eqz (local.get $bits)))
                (call $mark_chunk
                  (i32.add
                    (local.get $chunks)
                    (i32.shl (i32.add (local.get $i) (i32.ctz (local.get $bits))) (i32.const 1))))
                (local.set $bits (i32.and (local.get $bits) (i32.sub (local.get $bits) (i32.const 1))))
                (br $next_bit)))
            (local.set $i (i32.add (local.get $i) (i32.const 16))))
          (else
            (if
              (i32.ge_u
                (i32.load8_u $arena (i32.add (local.get $codes) (local.get $i)))
                (local.get $code_min))
              (then
                (call $mark_chunk (i32.add (local.get $chunks) (i32.shl (local.get $i) (i32.const 1))))))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))))
        (br $next))))

  ;; $at is the address of the chunk's number.
  (func $mark_chunk (param $at i32)
    (local $chunk i32)
    (local.set $chunk (i32.load16_u $arena (local.get $at)))
    (local.set $at (i32.shr_u (local.get $chunk) (i32.const 3)))
    (i32.store8 $scratch offset={marks} (local.get $at)
      (i32.or
        (i32.load8_u $scratch offset={marks} (local.get $at))
        (i32.shl (i32.const 1) (i32.and (local.get $chunk) (i32.const 7))))))

  ;; Sets the bits at {matching} of the chunks of $count postings from $from on, and writes to {kept} the numbers of
  ;; those postings whose chunk has a bit at {marks}, relative to the first. Returns how many.
  (func (export "skip") (param $from i32) (param $count i32) (result i32)
    (local $chunks i32) (local $i i32) (local $chunk i32) (local $at i32) (local $bit i32) (local $written i32)
    (local.set $chunks (call $chunks_from (local.get $from)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (local.set $chunk (i32.load16_u $arena (local.get $chunks)))
        (local.set $at (i32.shr_u (local.get $chunk) (i32.const 3)))
        (local.set $bit (i32.and (local.get $chunk) (i32.const 7)))
        ;; Always written, but only counted if it is marked.
        (i32.store $scratch offset={kept} (local.get $written) (local.get $i))
        (local.set $written
          (i32.add
            (local.get $written)
            (i32.shl
              (i32.and
                (i32.shr_u
                  (i32.load8_u $scratch offset={marks} (local.get $at))
                  (local.get $bit))
                (i32.const 1))
              (i32.const 2))))
        (i32.store8 $scratch offset={matching} (local.get $at)
          (i32.or
            (i32.load8_u $scratch offset={matching} (local.get $at))
            (i32.shl (i32.const 1) (local.get $bit))))
        (local.set $chunks (i32.add (local.get $chunks) (i32.const 2)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (i32.shr_u (local.get $written) (i32.const 2)))

  ;; Adds the score of each of $count postings from $from on to that of its chunk, or raises the chunk's score to it. If
  ;; $only_kept is not 0, only the postings whose numbers are at {kept}. {deferred} receives the numbers of the deferred
  ;; postings, relative to the first.
  (func (export "gather")
    (param $from i32) (param $count i32) (param $only_kept i32) (param $scores i32) (param $touched i32) (param $raise i32)
    (local $chunks i32) (local $codes i32)
    (local $words i32) (local $deleted_at i32) (local $generation i32)
    (local $weight f64) (local $base f64) (local $step f64)
    (local $nth i32) (local $i i32) (local $chunk i32) (local $word i32) (local $mask i32) (local $code i32) (local $deferred i32)
    (local $frequency f64) (local $score f64) (local $at i32)
    (local.set $chunks (call $chunks_from (local.get $from)))
    (local.set $codes (call $codes_from (local.get $from)))
    (local.set $words (i32.load $scratch offset={words} (i32.const 0)))
    (local.set $deleted_at (i32.load $scratch offset={deletedAt} (i32.const 0)))
    (local.set $generation (i32.load $scratch offset={generation} (i32.const 0)))
    (local.set $weight (f64.load $scratch offset={weight} (i32.const 0)))
    (local.set $base (f64.load $scratch offset={base} (i32.const 0)))
    (local.set $step (f64.load $scratch offset={step} (i32.const 0)))
    (block $done
      (br_if $done (i32.eqz (local.get $count)))
      (loop $next
        (block $skip
          (local.set $i (local.get $nth))
          (if (local.get $only_kept)
            (then
              (local.set $i
                (i32.load $scratch offset={kept} (i32.shl (local.get $nth) (i32.const 2))))))
          (local.set $chunk
            (i32.load16_u $arena (i32.add (local.get $chunks) (i32.shl (local.get $i) (i32.const 1)))))
          (local.set $word
            (i32.load $arena (i32.add (local.get $words) (i32.shl (local.get $chunk) (i32.const 2)))))
          (local.set $mask
            (i32.load8_u $scratch offset={table}
              (i32.shr_u (local.get $word) (i32.const 16))))
          (if (i32.gt_u (local.get $mask) (i32.const 3))
            (then (local.set $mask (call $timed (local.get $mask) (local.get $chunk)))))
          (local.set $code (i32.load8_u $arena (i32.add (local.get $codes) (local.get $i))))
          (if (local.get $deleted_at)
            (then
              (br_if $skip
                (i32.le_s
                  (i32.load $arena (i32.add (local.get $deleted_at) (i32.shl (local.get $chunk) (i32.const 2))))
                  (local.get $generation)))))
          ;; One branch for all rare cases: entry 255, code 255, mask 1 or 2.
          (if
            (i32.or
              (i32.or (i32.gt_u (local.get $mask) (i32.const 3)) (i32.eq (local.get $code) (i32.const 255)))
              (i32.and (i32.add (local.get $mask) (i32.const 1)) (i32.const 2)))
            (then
              (if (i32.or (i32.gt_u (local.get $mask) (i32.const 3)) (i32.eq (local.get $code) (i32.const 255)))
                (then
                  (i32.store $scratch offset={deferred}
                    (i32.shl (local.get $deferred) (i32.const 2))
                    (local.get $i))
                  (local.set $deferred
                    (i32.add (local.get $deferred) (i32.ne (local.get $mask) (i32.const 0))))
                  (br $skip)))
              ;; Skips a posting without the term in that field: the upper two bits of a code belong to the title, the
              ;; others to the body.
              (br_if $skip
                (i32.eqz
                  (i32.and
                    (local.get $code)
                    (select (i32.const 0xc0) (i32.const 0x3f) (i32.eq (local.get $mask) (i32.const 1))))))
              (br_if $skip
                (i32.lt_s
                  (local.tee $word
                    (call $one_field (local.get $mask) (local.get $word) (local.get $chunk)))
                  (i32.const 0)))))
          (local.set $frequency
            (f64.load $scratch offset={weighted}
              (i32.shl (i32.or (i32.shl (local.get $mask) (i32.const 8)) (local.get $code)) (i32.const 3))))
          (local.set $score
            (f64.div
              (f64.mul (local.get $weight) (local.get $frequency))
              (f64.add
                (local.get $frequency)
                (f64.add
                  (local.get $base)
                  (f64.mul
                    (local.get $step)
                    (f64.convert_i32_u (i32.and (local.get $word) (i32.const 0xffff))))))))
          (local.set $at (i32.add (local.get $touched) (i32.shl (i32.shr_u (local.get $chunk) (i32.const 5)) (i32.const 2))))
          (i32.store $scratch (local.get $at)
            (i32.or
              (i32.load $scratch (local.get $at))
              (i32.shl (f64.gt (local.get $frequency) (f64.const 0)) (local.get $chunk))))
          (local.set $at (i32.add (local.get $scores) (i32.shl (local.get $chunk) (i32.const 3))))
          (if (local.get $raise)
            (then
              (f64.store $scratch (local.get $at)
                (f64.max (f64.load $scratch (local.get $at)) (local.get $score))))
            (else
              (f64.store $scratch (local.get $at)
                (f64.add (f64.load $scratch (local.get $at)) (local.get $score))))))
        (br_if $next
          (i32.lt_u (local.tee $nth (i32.add (local.get $nth) (i32.const 1))) (local.get $count)))))
    (i32.store $scratch (i32.const {deferredCount}) (local.get $deferred)))

  ;; Adds the scores of a clause to the sum, for the chunks of $count words, and resets them to zero.
  (func (export "add_gathered") (param $count i32)
    (local $bits i32) (local $first i32) (local $at i32)
    (block $done
      (loop $word
        (br_if $done (i32.ge_u (local.get $first) (local.get $count)))
        (local.set $at (i32.shl (local.get $first) (i32.const 2)))
        (local.set $bits (i32.load $scratch offset={clauseTouched} (local.get $at)))
        (if (local.get $bits)
          (then
            (i32.store $scratch offset={clauseTouched} (local.get $at) (i32.const 0))
            (i32.store $scratch offset={sumTouched} (local.get $at)
              (i32.or (i32.load $scratch offset={sumTouched} (local.get $at)) (local.get $bits)))
            (loop $bit
              (local.set $at
                (i32.shl
                  (i32.or (i32.shl (local.get $first) (i32.const 5)) (i32.ctz (local.get $bits)))
                  (i32.const 3)))
              (f64.store $scratch offset={sumScores} (local.get $at)
                (f64.add
                  (f64.load $scratch offset={sumScores} (local.get $at))
                  (f64.load $scratch offset={clauseScores} (local.get $at))))
              (f64.store $scratch offset={clauseScores} (local.get $at) (f64.const 0))
              (br_if $bit
                (local.tee $bits
                  (i32.and (local.get $bits) (i32.sub (local.get $bits) (i32.const 1))))))))
        (local.set $first (i32.add (local.get $first) (i32.const 1)))
        (br $word))))

  ;; Scores $count postings from $from on of a query's only term. Writes those of at least $threshold as candidates:
  ;; chunks (16 bits) and scores. Returns how many chunks match.
  (func (export "rank_term") (param $from i32) (param $count i32) (param $threshold f64) (result i32)
    (local $chunks i32) (local $codes i32)
    (local $words i32) (local $deleted_at i32) (local $generation i32)
    (local $weight f64) (local $base f64) (local $step f64)
    (local $i i32) (local $chunk i32) (local $word i32) (local $mask i32) (local $code i32) (local $deferred i32)
    (local $frequency f64) (local $score f64) (local $matches i32) (local $candidates i32)
    (local.set $chunks (call $chunks_from (local.get $from)))
    (local.set $codes (call $codes_from (local.get $from)))
    (local.set $words (i32.load $scratch offset={words} (i32.const 0)))
    (local.set $deleted_at (i32.load $scratch offset={deletedAt} (i32.const 0)))
    (local.set $generation (i32.load $scratch offset={generation} (i32.const 0)))
    (local.set $weight (f64.load $scratch offset={weight} (i32.const 0)))
    (local.set $base (f64.load $scratch offset={base} (i32.const 0)))
    (local.set $step (f64.load $scratch offset={step} (i32.const 0)))
    (block $done
      (br_if $done (i32.eqz (local.get $count)))
      (loop $next
        (block $skip
          (local.set $chunk
            (i32.load16_u $arena (i32.add (local.get $chunks) (i32.shl (local.get $i) (i32.const 1)))))
          (local.set $word
            (i32.load $arena (i32.add (local.get $words) (i32.shl (local.get $chunk) (i32.const 2)))))
          (local.set $mask
            (i32.load8_u $scratch offset={table}
              (i32.shr_u (local.get $word) (i32.const 16))))
          (if (i32.gt_u (local.get $mask) (i32.const 3))
            (then (local.set $mask (call $timed (local.get $mask) (local.get $chunk)))))
          (local.set $code (i32.load8_u $arena (i32.add (local.get $codes) (local.get $i))))
          (if (local.get $deleted_at)
            (then
              (br_if $skip
                (i32.le_s
                  (i32.load $arena (i32.add (local.get $deleted_at) (i32.shl (local.get $chunk) (i32.const 2))))
                  (local.get $generation)))))
          ;; One branch for all rare cases: entry 255, code 255, mask 1 or 2.
          (if
            (i32.or
              (i32.or (i32.gt_u (local.get $mask) (i32.const 3)) (i32.eq (local.get $code) (i32.const 255)))
              (i32.and (i32.add (local.get $mask) (i32.const 1)) (i32.const 2)))
            (then
              (if (i32.or (i32.gt_u (local.get $mask) (i32.const 3)) (i32.eq (local.get $code) (i32.const 255)))
                (then
                  (local.set $deferred
                    (i32.add (local.get $deferred) (i32.ne (local.get $mask) (i32.const 0))))
                  (br $skip)))
              ;; Skips a posting without the term in that field: the upper two bits of a code belong to the title, the
              ;; others to the body.
              (br_if $skip
                (i32.eqz
                  (i32.and
                    (local.get $code)
                    (select (i32.const 0xc0) (i32.const 0x3f) (i32.eq (local.get $mask) (i32.const 1))))))
              (br_if $skip
                (i32.lt_s
                  (local.tee $word
                    (call $one_field (local.get $mask) (local.get $word) (local.get $chunk)))
                  (i32.const 0)))))
          (local.set $frequency
            (f64.load $scratch offset={weighted}
              (i32.shl (i32.or (i32.shl (local.get $mask) (i32.const 8)) (local.get $code)) (i32.const 3))))
          (local.set $matches
            (i32.add (local.get $matches) (f64.gt (local.get $frequency) (f64.const 0))))
          (local.set $score
            (f64.div
              (f64.mul (local.get $weight) (local.get $frequency))
              (f64.add
                (local.get $frequency)
                (f64.add
                  (local.get $base)
                  (f64.mul
                    (local.get $step)
                    (f64.convert_i32_u (i32.and (local.get $word) (i32.const 0xffff))))))))
          ;; Always written, but only counted if it is good enough: no branch to mispredict.
          (i32.store16 $scratch offset={foundChunks}
            (i32.shl (local.get $candidates) (i32.const 1))
            (local.get $chunk))
          (f64.store $scratch offset={foundScores}
            (i32.shl (local.get $candidates) (i32.const 3))
            (local.get $score))
          (local.set $candidates
            (i32.add
              (local.get $candidates)
              (i32.and
                (f64.ge (local.get $score) (local.get $threshold))
                (f64.gt (local.get $score) (f64.const 0))))))
        (br_if $next
          (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count)))))
    (i32.store $scratch (i32.const {candidates}) (local.get $candidates))
    (i32.store $scratch (i32.const {deferredCount}) (local.get $deferred))
    (local.get $matches))

  ;; Reads the sum for the chunks of $count words from $first on, resets it to zero, and writes those of at least
  ;; $threshold as candidates. Returns how many chunks have a score.
  (func (export "rank") (param $first i32) (param $count i32) (param $threshold f64) (result i32)
    (local $bits i32) (local $chunk i32) (local $at i32) (local $score f64) (local $matches i32) (local $candidates i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $first) (local.get $count)))
    (block $done
      (loop $word
        (br_if $done (i32.ge_u (local.get $first) (local.get $end)))
        (local.set $at (i32.shl (local.get $first) (i32.const 2)))
        (local.set $bits (i32.load $scratch offset={sumTouched} (local.get $at)))
        (if (local.get $bits)
          (then
            (i32.store $scratch offset={sumTouched} (local.get $at) (i32.const 0))
            (loop $bit
              (local.set $chunk
                (i32.or (i32.shl (local.get $first) (i32.const 5)) (i32.ctz (local.get $bits))))
              (local.set $at (i32.shl (local.get $chunk) (i32.const 3)))
              (local.set $score (f64.load $scratch offset={sumScores} (local.get $at)))
              (f64.store $scratch offset={sumScores} (local.get $at) (f64.const 0))
              (local.set $matches (i32.add (local.get $matches) (f64.gt (local.get $score) (f64.const 0))))
              (i32.store16 $scratch offset={foundChunks}
                (i32.shl (local.get $candidates) (i32.const 1))
                (local.get $chunk))
              (f64.store $scratch offset={foundScores}
                (i32.shl (local.get $candidates) (i32.const 3))
                (local.get $score))
              (local.set $candidates
                (i32.add
                  (local.get $candidates)
                  (i32.and
                    (f64.ge (local.get $score) (local.get $threshold))
                    (f64.gt (local.get $score) (f64.const 0)))))
              (br_if $bit
                (local.tee $bits
                  (i32.and (local.get $bits) (i32.sub (local.get $bits) (i32.const 1))))))))
        (local.set $first (i32.add (local.get $first) (i32.const 1)))
        (br $word)))
    (i32.store $scratch (i32.const {candidates}) (local.get $candidates))
    (local.get $matches))

  ;; Adds to the byte of each chunk at {prefixFields} the fields with one of the $count terms at {termPositions}: 1 title,
  ;; 2 body. The terms are positions in the segment's list of terms.
  (func (export "collect_prefix") (param $count i32)
    (local $starts i32) (local $chunks i32) (local $codes i32)
    (local $posting i32) (local $end i32) (local $at i32) (local $code i32) (local $positions i32) (local $positions_end i32)
    (local.set $starts (i32.load $scratch offset={postingStarts} (i32.const 0)))
    (local.set $chunks (call $chunks_from (i32.const 0)))
    (local.set $codes (call $codes_from (i32.const 0)))
    (local.set $positions (i32.const {termPositions}))
    (local.set $positions_end (i32.add (local.get $positions) (i32.shl (local.get $count) (i32.const 2))))
    (block $done
      (loop $next_term
        (br_if $done (i32.eq (local.get $positions) (local.get $positions_end)))
        (local.set $at
          (i32.add (local.get $starts) (i32.shl (i32.load $scratch (local.get $positions)) (i32.const 2))))
        (local.set $posting (i32.load $arena (local.get $at)))
        (local.set $end (i32.load $arena offset=4 (local.get $at)))
        (block $collected
          (loop $next
            (br_if $collected (i32.eq (local.get $posting) (local.get $end)))
            (local.set $code (i32.load8_u $arena (i32.add (local.get $codes) (local.get $posting))))
            (if (i32.eq (local.get $code) (i32.const 255))
              (then (local.set $code (call $exception_code (local.get $posting)))))
            (local.set $at
              (i32.load16_u $arena (i32.add (local.get $chunks) (i32.shl (local.get $posting) (i32.const 1)))))
            (i32.store8 $scratch offset={prefixFields} (local.get $at)
              (i32.or
                (i32.load8_u $scratch offset={prefixFields} (local.get $at))
                (i32.or
                  (i32.gt_u (local.get $code) (i32.const 63))
                  (i32.shl (i32.ne (i32.and (local.get $code) (i32.const 63)) (i32.const 0)) (i32.const 1)))))
            (local.set $posting (i32.add (local.get $posting) (i32.const 1)))
            (br $next)))
        (local.set $positions (i32.add (local.get $positions) (i32.const 4)))
        (br $next_term))))

  ;; A code with the fields of an exceptional posting.
  (func $exception_code (param $posting i32) (result i32)
    (local $exceptions i32) (local $low i32) (local $middle i32) (local $high i32)
    (local.set $exceptions (i32.load $scratch offset={exceptions} (i32.const 0)))
    (local.set $high (i32.sub (i32.load $scratch offset={exceptionCount} (i32.const 0)) (i32.const 1)))
    (block $found
      (loop $next
        (br_if $found (i32.ge_s (local.get $low) (local.get $high)))
        (local.set $middle (i32.shr_u (i32.add (local.get $low) (local.get $high)) (i32.const 1)))
        (if
          (i32.lt_u
            (i32.load $arena (i32.add (local.get $exceptions) (i32.shl (local.get $middle) (i32.const 2))))
            (local.get $posting))
          (then (local.set $low (i32.add (local.get $middle) (i32.const 1))))
          (else (local.set $high (local.get $middle))))
        (br $next)))
    (local.set $middle
      (i32.load $arena
        (i32.add
          (i32.load $scratch offset={exceptionFrequencies} (i32.const 0))
          (i32.shl (local.get $low) (i32.const 2)))))
    (i32.or
      (i32.shl (i32.gt_u (local.get $middle) (i32.const 0xffff)) (i32.const 6))
      (i32.ne (i32.and (local.get $middle) (i32.const 0xffff)) (i32.const 0))))

  ;; Reads the bytes at {prefixFields} for the chunks of $count words, resets them to zero, and writes a bit for each
  ;; chunk and field. Returns how many chunks have one.
  (func (export "take_prefix") (param $count i32) (result i32)
    (local $low v128) (local $high v128) (local $in_title i32) (local $in_body i32) (local $chunks i32)
    (local $fields i32) (local $word i32) (local $end i32)
    (local.set $fields (i32.const {prefixFields}))
    (local.set $end (i32.shl (local.get $count) (i32.const 2)))
    (block $done
      (loop $next
        (br_if $done (i32.eq (local.get $word) (local.get $end)))
        (local.set $low (v128.load $scratch (local.get $fields)))
        (local.set $high (v128.load $scratch offset=16 (local.get $fields)))
        (v128.store $scratch (local.get $fields) (v128.const i64x2 0 0))
        (v128.store $scratch offset=16 (local.get $fields) (v128.const i64x2 0 0))
        (local.set $in_title
          (i32.or
            (i8x16.bitmask (i8x16.shl (local.get $low) (i32.const 7)))
            (i32.shl (i8x16.bitmask (i8x16.shl (local.get $high) (i32.const 7))) (i32.const 16))))
        (local.set $in_body
          (i32.or
            (i8x16.bitmask (i8x16.shl (local.get $low) (i32.const 6)))
            (i32.shl (i8x16.bitmask (i8x16.shl (local.get $high) (i32.const 6))) (i32.const 16))))
        (i32.store $scratch offset={prefixTitles} (local.get $word) (local.get $in_title))
        (i32.store $scratch offset={prefixBodies} (local.get $word) (local.get $in_body))
        (local.set $chunks
          (i32.add (local.get $chunks) (i32.popcnt (i32.or (local.get $in_title) (local.get $in_body)))))
        (local.set $fields (i32.add (local.get $fields) (i32.const 32)))
        (local.set $word (i32.add (local.get $word) (i32.const 4)))
        (br $next)))
    (local.get $chunks))

  ;; Visits the chunks of $count words from $first on that have a bit at {prefixTitles} or {prefixBodies}; each field
  ;; counts once. Raises the sum of chunks that are short enough for it to matter: {limits} has, by mask << 2 | title <<
  ;; 1 | body, the largest such length, -1 for none, and -2 if the chunk does not match. {deferred} receives the
  ;; deferred chunks. Returns how many other chunks match that had no score before.
  (func (export "skip_long") (param $first i32) (param $count i32) (result i32)
    (local $words i32) (local $deleted_at i32) (local $generation i32)
    (local $weight f64) (local $base f64) (local $step f64)
    (local $bits i32) (local $in_title i32) (local $in_body i32) (local $end i32) (local $at i32) (local $had i32)
    (local $bit i32) (local $chunk i32) (local $word i32) (local $mask i32) (local $deferred i32) (local $limit i32)
    (local $frequency f64) (local $matches i32)
    (local.set $words (i32.load $scratch offset={words} (i32.const 0)))
    (local.set $deleted_at (i32.load $scratch offset={deletedAt} (i32.const 0)))
    (local.set $generation (i32.load $scratch offset={generation} (i32.const 0)))
    (local.set $weight (f64.load $scratch offset={weight} (i32.const 0)))
    (local.set $base (f64.load $scratch offset={base} (i32.const 0)))
    (local.set $step (f64.load $scratch offset={step} (i32.const 0)))
    (local.set $end (i32.add (local.get $first) (local.get $count)))
    (block $done
      (loop $next_word
        (br_if $done (i32.ge_u (local.get $first) (local.get $end)))
        (local.set $in_title (i32.load $scratch offset={prefixTitles} (i32.shl (local.get $first) (i32.const 2))))
        (local.set $in_body (i32.load $scratch offset={prefixBodies} (i32.shl (local.get $first) (i32.const 2))))
        (local.set $had (i32.load $scratch offset={sumTouched} (i32.shl (local.get $first) (i32.const 2))))
        (local.set $bits (i32.or (local.get $in_title) (local.get $in_body)))
        (block $no_bits
          (loop $next
            (br_if $no_bits (i32.eqz (local.get $bits)))
            (block $skip
              (local.set $bit (i32.ctz (local.get $bits)))
              (local.set $chunk (i32.or (i32.shl (local.get $first) (i32.const 5)) (local.get $bit)))
              (local.set $word
                (i32.load $arena (i32.add (local.get $words) (i32.shl (local.get $chunk) (i32.const 2)))))
              (local.set $mask
                (i32.load8_u $scratch offset={table}
                  (i32.shr_u (local.get $word) (i32.const 16))))
              (if (i32.gt_u (local.get $mask) (i32.const 3))
                (then (local.set $mask (call $timed (local.get $mask) (local.get $chunk)))))
              (if (local.get $deleted_at)
                (then
                  (br_if $skip
                    (i32.le_s
                      (i32.load $arena (i32.add (local.get $deleted_at) (i32.shl (local.get $chunk) (i32.const 2))))
                      (local.get $generation)))))
              ;; One branch for all rare cases: entry 255, mask 1 or 2.
              (if
                (i32.or
                  (i32.gt_u (local.get $mask) (i32.const 3))
                  (i32.and (i32.add (local.get $mask) (i32.const 1)) (i32.const 2)))
                (then
                  (if (i32.gt_u (local.get $mask) (i32.const 3))
                    (then
                      (i32.store $scratch offset={deferred}
                        (i32.shl (local.get $deferred) (i32.const 2))
                        (local.get $chunk))
                      (local.set $deferred (i32.add (local.get $deferred) (i32.const 1)))
                      (br $skip)))
                  (br_if $skip
                    (i32.lt_s
                      (local.tee $word
                        (call $one_field (local.get $mask) (local.get $word) (local.get $chunk)))
                      (i32.const 0)))))
              (local.set $word (i32.and (local.get $word) (i32.const 0xffff)))
              (local.set $at
                (i32.or
                  (i32.shl (local.get $mask) (i32.const 2))
                  (i32.or
                    (i32.shl
                      (i32.and (i32.shr_u (local.get $in_title) (local.get $bit)) (i32.const 1))
                      (i32.const 1))
                    (i32.and (i32.shr_u (local.get $in_body) (local.get $bit)) (i32.const 1)))))
              (local.set $limit
                (i32.load $scratch offset={limits} (i32.shl (local.get $at) (i32.const 2))))
              (if (i32.gt_s (local.get $word) (local.get $limit))
                (then
                  (local.set $matches
                    (i32.add
                      (local.get $matches)
                      (i32.and
                        (i32.gt_s (local.get $limit) (i32.const -2))
                        (i32.xor
                          (i32.and (i32.shr_u (local.get $had) (local.get $bit)) (i32.const 1))
                          (i32.const 1)))))
                  (br $skip)))
              ;; The code as a posting would have it: the title's frequency in the upper two of eight bits.
              (local.set $frequency
                (f64.load $scratch offset={weighted}
                  (i32.shl
                    (i32.or
                      (i32.shl (local.get $mask) (i32.const 8))
                      (i32.or
                        (i32.shl (i32.and (local.get $at) (i32.const 2)) (i32.const 5))
                        (i32.and (local.get $at) (i32.const 1))))
                    (i32.const 3))))
              (local.set $had (i32.or (local.get $had) (i32.shl (i32.const 1) (local.get $bit))))
              (local.set $at (i32.shl (local.get $chunk) (i32.const 3)))
              (f64.store $scratch offset={sumScores} (local.get $at)
                (f64.max
                  (f64.load $scratch offset={sumScores} (local.get $at))
                  (f64.div
                    (f64.mul (local.get $weight) (local.get $frequency))
                    (f64.add
                      (local.get $frequency)
                      (f64.add
                        (local.get $base)
                        (f64.mul (local.get $step) (f64.convert_i32_u (local.get $word)))))))))
            (local.set $bits (i32.and (local.get $bits) (i32.sub (local.get $bits) (i32.const 1))))
            (br $next)))
        (i32.store $scratch offset={sumTouched} (i32.shl (local.get $first) (i32.const 2)) (local.get $had))
        (local.set $first (i32.add (local.get $first) (i32.const 1)))
        (br $next_word)))
    (i32.store $scratch (i32.const {deferredCount}) (local.get $deferred))
    (local.get $matches))

  ;; Scores the chunks of the first $end words that have a bit at {prefixTitles} or {prefixBodies}; each field counts
  ;; once. Adds each score to that of its chunk, or raises that to it, as "gather" does. {deferred} receives the deferred
  ;; chunks.
  (func (export "gather_prefix") (param $end i32) (param $scores i32) (param $touched i32) (param $raise i32)
    (local $words i32) (local $deleted_at i32) (local $generation i32)
    (local $weight f64) (local $base f64) (local $step f64)
    (local $bits i32) (local $in_title i32) (local $in_body i32) (local $first i32) (local $at i32)
    (local $chunk i32) (local $word i32) (local $mask i32) (local $code i32) (local $deferred i32)
    (local $frequency f64) (local $score f64)
    (local.set $words (i32.load $scratch offset={words} (i32.const 0)))
    (local.set $deleted_at (i32.load $scratch offset={deletedAt} (i32.const 0)))
    (local.set $generation (i32.load $scratch offset={generation} (i32.const 0)))
    (local.set $weight (f64.load $scratch offset={weight} (i32.const 0)))
    (local.set $base (f64.load $scratch offset={base} (i32.const 0)))
    (local.set $step (f64.load $scratch offset={step} (i32.const 0)))
    (block $done
      (loop $next_word
        (br_if $done (i32.ge_u (local.get $first) (local.get $end)))
        (local.set $in_title (i32.load $scratch offset={prefixTitles} (i32.shl (local.get $first) (i32.const 2))))
        (local.set $in_body (i32.load $scratch offset={prefixBodies} (i32.shl (local.get $first) (i32.const 2))))
        (local.set $bits (i32.or (local.get $in_title) (local.get $in_body)))
        (block $no_bits
          (loop $next
            (br_if $no_bits (i32.eqz (local.get $bits)))
            (block $skip
              (local.set $chunk (i32.ctz (local.get $bits)))
              (local.set $code
                (i32.or
                  (i32.shl
                    (i32.and (i32.shr_u (local.get $in_title) (local.get $chunk)) (i32.const 1))
                    (i32.const 6))
                  (i32.and (i32.shr_u (local.get $in_body) (local.get $chunk)) (i32.const 1))))
              (local.set $chunk (i32.or (i32.shl (local.get $first) (i32.const 5)) (local.get $chunk)))
              (local.set $word
                (i32.load $arena (i32.add (local.get $words) (i32.shl (local.get $chunk) (i32.const 2)))))
              (local.set $mask
                (i32.load8_u $scratch offset={table}
                  (i32.shr_u (local.get $word) (i32.const 16))))
              (if (i32.gt_u (local.get $mask) (i32.const 3))
                (then (local.set $mask (call $timed (local.get $mask) (local.get $chunk)))))
              (if (local.get $deleted_at)
                (then
                  (br_if $skip
                    (i32.le_s
                      (i32.load $arena (i32.add (local.get $deleted_at) (i32.shl (local.get $chunk) (i32.const 2))))
                      (local.get $generation)))))
              ;; One branch for all rare cases: entry 255, mask 1 or 2.
              (if
                (i32.or
                  (i32.gt_u (local.get $mask) (i32.const 3))
                  (i32.and (i32.add (local.get $mask) (i32.const 1)) (i32.const 2)))
                (then
                  (if (i32.gt_u (local.get $mask) (i32.const 3))
                    (then
                      (i32.store $scratch offset={deferred}
                        (i32.shl (local.get $deferred) (i32.const 2))
                        (local.get $chunk))
                      (local.set $deferred (i32.add (local.get $deferred) (i32.const 1)))
                      (br $skip)))
                  (br_if $skip
                    (i32.eqz
                      (i32.and
                        (local.get $code)
                        (select (i32.const 0x40) (i32.const 0x01) (i32.eq (local.get $mask) (i32.const 1))))))
                  (br_if $skip
                    (i32.lt_s
                      (local.tee $word
                        (call $one_field (local.get $mask) (local.get $word) (local.get $chunk)))
                      (i32.const 0)))))
              (local.set $frequency
                (f64.load $scratch offset={weighted}
                  (i32.shl (i32.or (i32.shl (local.get $mask) (i32.const 8)) (local.get $code)) (i32.const 3))))
              (local.set $score
                (f64.div
                  (f64.mul (local.get $weight) (local.get $frequency))
                  (f64.add
                    (local.get $frequency)
                    (f64.add
                      (local.get $base)
                      (f64.mul
                        (local.get $step)
                        (f64.convert_i32_u (i32.and (local.get $word) (i32.const 0xffff))))))))
              (local.set $at
                (i32.add (local.get $touched) (i32.shl (local.get $first) (i32.const 2))))
              (i32.store $scratch (local.get $at)
                (i32.or
                  (i32.load $scratch (local.get $at))
                  (i32.shl (f64.gt (local.get $frequency) (f64.const 0)) (local.get $chunk))))
              (local.set $at (i32.add (local.get $scores) (i32.shl (local.get $chunk) (i32.const 3))))
              (if (local.get $raise)
                (then
                  (f64.store $scratch (local.get $at)
                    (f64.max (f64.load $scratch (local.get $at)) (local.get $score))))
                (else
                  (f64.store $scratch (local.get $at)
                    (f64.add (f64.load $scratch (local.get $at)) (local.get $score))))))
            (local.set $bits (i32.and (local.get $bits) (i32.sub (local.get $bits) (i32.const 1))))
            (br $next)))
        (local.set $first (i32.add (local.get $first) (i32.const 1)))
        (br $next_word)))
    (i32.store $scratch (i32.const {deferredCount}) (local.get $deferred)))

  ;; Writes to {list} the chunks of $count postings from $from on that are not deleted and have the term in a field that
  ;; may be searched, and to {masks} the fields that may, a byte each: 1 title, 2 body. Returns how many, or -1 if one
  ;; would have to be deferred.
  (func (export "visible") (param $from i32) (param $count i32) (result i32)
    (local $chunks i32) (local $codes i32)
    (local $words i32) (local $deleted_at i32) (local $generation i32)
    (local $i i32) (local $chunk i32) (local $word i32) (local $mask i32) (local $code i32) (local $kept i32)
    (local.set $chunks (call $chunks_from (local.get $from)))
    (local.set $codes (call $codes_from (local.get $from)))
    (local.set $words (i32.load $scratch offset={words} (i32.const 0)))
    (local.set $deleted_at (i32.load $scratch offset={deletedAt} (i32.const 0)))
    (local.set $generation (i32.load $scratch offset={generation} (i32.const 0)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (block $skip
          (local.set $chunk
            (i32.load16_u $arena (i32.add (local.get $chunks) (i32.shl (local.get $i) (i32.const 1)))))
          (local.set $word
            (i32.load $arena (i32.add (local.get $words) (i32.shl (local.get $chunk) (i32.const 2)))))
          (local.set $mask
            (i32.load8_u $scratch offset={table}
              (i32.shr_u (local.get $word) (i32.const 16))))
          (if (i32.gt_u (local.get $mask) (i32.const 3))
            (then (local.set $mask (call $timed (local.get $mask) (local.get $chunk)))))
          (local.set $code (i32.load8_u $arena (i32.add (local.get $codes) (local.get $i))))
          (if (local.get $deleted_at)
            (then
              (br_if $skip
                (i32.le_s
                  (i32.load $arena (i32.add (local.get $deleted_at) (i32.shl (local.get $chunk) (i32.const 2))))
                  (local.get $generation)))))
          ;; One branch for all rare cases: entry 255, code 255, mask 1 or 2.
          (if
            (i32.or
              (i32.or (i32.gt_u (local.get $mask) (i32.const 3)) (i32.eq (local.get $code) (i32.const 255)))
              (i32.and (i32.add (local.get $mask) (i32.const 1)) (i32.const 2)))
            (then
              (br_if $skip (i32.eqz (local.get $mask)))
              (if (i32.or (i32.gt_u (local.get $mask) (i32.const 3)) (i32.eq (local.get $code) (i32.const 255)))
                (then (return (i32.const -1))))
              (br_if $skip
                (i32.eqz
                  (i32.and
                    (local.get $code)
                    (select (i32.const 0xc0) (i32.const 0x3f) (i32.eq (local.get $mask) (i32.const 1))))))
              (br_if $skip
                (i32.lt_s
                  (call $one_field (local.get $mask) (local.get $word) (local.get $chunk))
                  (i32.const 0)))))
          (i32.store16 $scratch offset={list}
            (i32.shl (local.get $kept) (i32.const 1))
            (local.get $chunk))
          (i32.store8 $scratch offset={masks} (local.get $kept) (local.get $mask))
          (local.set $kept (i32.add (local.get $kept) (i32.ne (local.get $mask) (i32.const 0)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $kept))

  ;; Words of three bytes ($bytes) or four: three bits of step, then the number of the term, which callers give in the
  ;; form of these words (`tokenNumber`). Shifted up by $drop, a word of three bytes begins with its step like one of
  ;; four. Four words are compared at a time, the last ones together with the bytes after them, which are always inside
  ;; the memory (`arena.ts`).

  ;; The lanes that the bytes of four words go to.
  (func $lanes (param $bytes i32) (result v128)
    (select
      (v128.const i8x16 16 0 1 2 16 3 4 5 16 6 7 8 16 9 10 11)
      (v128.const i8x16 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
      (i32.eq (local.get $bytes) (i32.const 3))))

  (func $drop (param $bytes i32) (result i32)
    (i32.shl (i32.sub (i32.const 4) (local.get $bytes)) (i32.const 3)))

  ;; The addresses of the bounds of the title of a chunk's version, and of its body: the numbers of the first word and
  ;; of the one after the last.
  (func $title_bounds (param $chunk i32) (result i32)
    (i32.add
      (i32.load $scratch offset={titleStarts} (i32.const 0))
      (i32.shl (call $version_of (local.get $chunk)) (i32.const 2))))

  (func $body_bounds (param $chunk i32) (result i32)
    (i32.add (i32.load $scratch offset={bodyStarts} (i32.const 0)) (i32.shl (local.get $chunk) (i32.const 2))))

  ;; Keeps those of $count chunks at {list} that have $term as a word as written in a field of their mask, a byte each
  ;; at {masks}: 1 title, 2 body. Returns how many.
  (func (export "keep_written") (param $count i32) (param $term i32) (result i32)
    (local $titles i32) (local $bodies i32) (local $bytes i32)
    (local $i i32) (local $chunk i32) (local $mask i32) (local $is_written i32) (local $kept i32)
    (local.set $titles (i32.load $scratch offset={titleTokens} (i32.const 0)))
    (local.set $bodies (i32.load $scratch offset={bodyTokens} (i32.const 0)))
    (local.set $bytes (i32.load $scratch offset={tokenBytes} (i32.const 0)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (local.set $chunk
          (i32.load16_u $scratch offset={list} (i32.shl (local.get $i) (i32.const 1))))
        (local.set $mask (i32.load8_u $scratch offset={masks} (local.get $i)))
        (local.set $is_written (i32.const 0))
        (if (i32.and (local.get $mask) (i32.const 2))
          (then
            (local.set $is_written
              (call $has_written
                (call $body_bounds (local.get $chunk))
                (local.get $bodies)
                (local.get $bytes)
                (local.get $term)))))
        (if (i32.and (i32.eqz (local.get $is_written)) (i32.and (local.get $mask) (i32.const 1)))
          (then
            (local.set $is_written
              (call $has_written
                (call $title_bounds (local.get $chunk))
                (local.get $titles)
                (local.get $bytes)
                (local.get $term)))))
        (i32.store16 $scratch offset={list}
          (i32.shl (local.get $kept) (i32.const 1))
          (local.get $chunk))
        (local.set $kept (i32.add (local.get $kept) (local.get $is_written)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $kept))

  ;; Whether a word between the two word numbers at $bounds is the term with a step: the first of its position. The word
  ;; with the length of a long step has no step itself.
  (func $has_written (param $bounds i32) (param $tokens i32) (param $bytes i32) (param $term i32) (result i32)
    (local $at i32) (local $to i32) (local $terms v128) (local $lanes v128) (local $words v128) (local $hits i32)
    (local.set $at (i32.add (local.get $tokens) (i32.mul (i32.load $arena (local.get $bounds)) (local.get $bytes))))
    (local.set $to
      (i32.add (local.get $tokens) (i32.mul (i32.load $arena offset=4 (local.get $bounds)) (local.get $bytes))))
    (local.set $lanes (call $lanes (local.get $bytes)))
    (local.set $terms (i32x4.splat (i32.shl (local.get $term) (i32.const 3))))
    (block $none
      (loop $next
        (br_if $none (i32.ge_u (local.get $at) (local.get $to)))
        (local.set $words (i8x16.swizzle (v128.load $arena (local.get $at)) (local.get $lanes)))
        (local.set $hits
          (i32x4.bitmask
            (v128.and
              (i32x4.eq (i32x4.shl (local.get $words) (i32.const 3)) (local.get $terms))
              (i32x4.gt_u (local.get $words) (v128.const i32x4 0x1fffffff 0x1fffffff 0x1fffffff 0x1fffffff)))))
        (if (local.get $hits)
          (then
            (return
              (i32.lt_u
                (i32.add (local.get $at) (i32.mul (i32.ctz (local.get $hits)) (local.get $bytes)))
                (local.get $to)))))
        (local.set $at (i32.add (local.get $at) (i32.shl (local.get $bytes) (i32.const 2))))
        (br $next)))
    (i32.const 0))

  ;; Writes to {phraseFrequencies} the frequency of the phrase in each of $count chunks at {list}, title << 16 | body.
  ;; The phrase is at {phrase}: the number of groups (at most 31), then the start of each group's terms and the end of
  ;; the last ones, counted in terms, then the terms.
  (func (export "phrases") (param $count i32)
    (local $titles i32) (local $bodies i32) (local $bytes i32) (local $i i32) (local $at i32)
    (local.set $titles (i32.load $scratch offset={titleTokens} (i32.const 0)))
    (local.set $bodies (i32.load $scratch offset={bodyTokens} (i32.const 0)))
    (local.set $bytes (i32.load $scratch offset={tokenBytes} (i32.const 0)))
    (block $done
      (br_if $done (i32.eqz (local.get $count)))
      (loop $next
        (local.set $at
          (i32.load16_u $scratch offset={list} (i32.shl (local.get $i) (i32.const 1))))
        (i32.store $scratch offset={phraseFrequencies}
          (i32.shl (local.get $i) (i32.const 2))
          (i32.or
            (call $field (call $body_bounds (local.get $at)) (local.get $bodies) (local.get $bytes))
            (i32.shl
              (call $field (call $title_bounds (local.get $at)) (local.get $titles) (local.get $bytes))
              (i32.const 16))))
        (br_if $next
          (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $count))))))

  ;; The frequency of the phrase between the two word numbers at $bounds.
  (func $field (param $bounds i32) (param $tokens i32) (param $bytes i32) (result i32)
    (local $from i32) (local $to i32) (local $at i32) (local $hits i32) (local $lane i32)
    (local $count i32) (local $counted i32)
    (local $first_terms i32) (local $first_end i32) (local $term i32)
    (local $lanes v128) (local $words v128) (local $equal v128)
    (local.set $from (i32.add (local.get $tokens) (i32.mul (i32.load $arena (local.get $bounds)) (local.get $bytes))))
    (local.set $to
      (i32.add (local.get $tokens) (i32.mul (i32.load $arena offset=4 (local.get $bounds)) (local.get $bytes))))
    (local.set $lanes (call $lanes (local.get $bytes)))
    ;; The terms follow the number of groups and one more bound than there are groups.
    (local.set $first_terms
      (i32.add (i32.const {phrase}) (i32.shl (i32.add (i32.load $scratch (i32.const {phrase})) (i32.const 2)) (i32.const 2))))
    (local.set $first_end
      (i32.add (local.get $first_terms) (i32.shl (i32.load $scratch offset=8 (i32.const {phrase})) (i32.const 2))))
    (local.set $at (local.get $from))
    (block $end
      (loop $four
        (br_if $end (i32.ge_u (local.get $at) (local.get $to)))
        (local.set $words
          (v128.and
            (i8x16.swizzle (v128.load $arena (local.get $at)) (local.get $lanes))
            (v128.const i32x4 0x1fffffff 0x1fffffff 0x1fffffff 0x1fffffff)))
        (local.set $equal (i32x4.eq (local.get $words) (v128.load32_splat $scratch (local.get $first_terms))))
        (local.set $term (i32.add (local.get $first_terms) (i32.const 4)))
        (block $compared
          (loop $alternative
            (br_if $compared (i32.ge_u (local.get $term) (local.get $first_end)))
            (local.set $equal
              (v128.or
                (local.get $equal)
                (i32x4.eq (local.get $words) (v128.load32_splat $scratch (local.get $term)))))
            (local.set $term (i32.add (local.get $term) (i32.const 4)))
            (br $alternative)))
        (local.set $hits (i32x4.bitmask (local.get $equal)))
        (if (local.get $hits)
          (then
            (loop $hit
              (local.set $lane
                (i32.add (local.get $at) (i32.mul (i32.ctz (local.get $hits)) (local.get $bytes))))
              (block $no
                (br_if $no (i32.ge_u (local.get $lane) (local.get $to)))
                ;; A word after a long step is the step, not a term.
                (if (i32.gt_u (local.get $lane) (local.get $from))
                  (then
                    (br_if $no
                      (i32.eq
                        (call $step (i32.sub (local.get $lane) (local.get $bytes)) (local.get $bytes))
                        (i32.const 7)))))
                (if (local.get $counted)
                  (then (br_if $no (call $same_position (local.get $counted) (local.get $lane) (local.get $bytes)))))
                (br_if $no
                  (i32.eqz (call $phrase_at (local.get $lane) (local.get $to) (local.get $bytes))))
                (local.set $count (i32.add (local.get $count) (i32.const 1)))
                (local.set $counted (local.get $lane)))
              (br_if $hit
                (local.tee $hits (i32.and (local.get $hits) (i32.sub (local.get $hits) (i32.const 1))))))))
        (local.set $at (i32.add (local.get $at) (i32.shl (local.get $bytes) (i32.const 2))))
        (br $four)))
    (local.get $count))

  (func $step (param $at i32) (param $bytes i32) (result i32)
    (i32.shr_u (i32.shl (i32.load $arena (local.get $at)) (call $drop (local.get $bytes))) (i32.const 29)))

  ;; Whether no word after $before up to $after has a step.
  (func $same_position (param $before i32) (param $after i32) (param $bytes i32) (result i32)
    (loop $next
      (local.set $before (i32.add (local.get $before) (local.get $bytes)))
      (if (i32.gt_u (local.get $before) (local.get $after)) (then (return (i32.const 1))))
      (if (call $step (local.get $before) (local.get $bytes)) (then (return (i32.const 0))))
      (br $next))
    (unreachable))

  ;; Whether the groups after the first follow the word at $at.
  (func $phrase_at (param $at i32) (param $to i32) (param $bytes i32) (result i32)
    (local $groups i32) (local $distance i32) (local $found_groups i32) (local $all_groups i32) (local $drop i32)
    (local $word i32) (local $term i32) (local $term_end i32) (local $terms i32)
    (local.set $drop (call $drop (local.get $bytes)))
    (local.set $groups (i32.load $scratch (i32.const {phrase})))
    (local.set $all_groups (i32.sub (i32.shl (i32.const 1) (local.get $groups)) (i32.const 2)))
    (local.set $terms
      (i32.add (i32.const {phrase}) (i32.shl (i32.add (local.get $groups) (i32.const 2)) (i32.const 2))))
    (local.set $at
      (i32.add
        (local.get $at)
        (i32.shl
          (local.get $bytes)
          (i32.eq (call $step (local.get $at) (local.get $bytes)) (i32.const 7)))))
    (loop $next
      (if (i32.ge_u (local.get $at) (local.get $to)) (then (return (i32.const 0))))
      (local.set $word (i32.shl (i32.load $arena (local.get $at)) (local.get $drop)))
      (local.set $at (i32.add (local.get $at) (local.get $bytes)))
      (if (i32.eq (i32.shr_u (local.get $word) (i32.const 29)) (i32.const 7))
        (then
          (local.set $distance
            (i32.add
              (local.get $distance)
              (i32.shr_u (i32.shl (i32.load $arena (local.get $at)) (local.get $drop)) (local.get $drop))))
          (local.set $at (i32.add (local.get $at) (local.get $bytes))))
        (else
          (local.set $distance
            (i32.add (local.get $distance) (i32.shr_u (local.get $word) (i32.const 29))))))
      (if (i32.ge_u (local.get $distance) (local.get $groups)) (then (return (i32.const 0))))
      (if (local.get $distance)
        (then
          (local.set $word (i32.and (local.get $word) (i32.const 0x1fffffff)))
          (local.set $term
            (i32.add (i32.const {phrase}) (i32.shl (i32.add (local.get $distance) (i32.const 1)) (i32.const 2))))
          (local.set $term_end
            (i32.add (local.get $terms) (i32.shl (i32.load $scratch offset=4 (local.get $term)) (i32.const 2))))
          (local.set $term
            (i32.add (local.get $terms) (i32.shl (i32.load $scratch (local.get $term)) (i32.const 2))))
          (block $compared
            (loop $alternative
              (br_if $compared (i32.ge_u (local.get $term) (local.get $term_end)))
              (if (i32.eq (local.get $word) (i32.load $scratch (local.get $term)))
                (then
                  (local.set $found_groups
                    (i32.or (local.get $found_groups) (i32.shl (i32.const 1) (local.get $distance))))
                  (br $compared)))
              (local.set $term (i32.add (local.get $term) (i32.const 4)))
              (br $alternative)))
          (if (i32.eq (local.get $found_groups) (local.get $all_groups)) (then (return (i32.const 1))))))
      (br $next))
    (unreachable)))
