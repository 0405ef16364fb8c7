import { workerData } from 'node:worker_threads'
import { answerCalls } from '../../threads/answer-calls.ts'
import { IndexReader } from './index-reader.ts'
import type { ReaderOptions, SearchReply } from './protocol.ts'
import type { SearchPart } from './split-search.ts'

const catchUpMs = 250

const reader = new IndexReader(workerData as ReaderOptions)

const { started } = answerCalls<SearchPart>({
  answer({ call, deadline: sharedDeadline, part }) {
    const deadline = sharedDeadline - performance.timeOrigin
    const tooLate: SearchReply = { outcome: { outcome: 'timed_out' }, state: null }
    return performance.now() > deadline ? tooLate : reader.answer(call, deadline, part)
  },
})
setInterval(() => reader.catchUp(), catchUpMs)
started()
