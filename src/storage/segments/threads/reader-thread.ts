import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { answerCalls } from '../../../threads/answer-calls.ts'
import { sentError } from '../../../threads/frames.ts'
import type { ThreadNotification } from '../memory/thread-messages.ts'
import { IndexReader } from '../query/index-reader.ts'
import type { ReaderOptions, SearchReply } from '../query/reader-calls.ts'
import type { SearchPart } from '../query/split-search.ts'

/** Changes that are published in this time are taken in together. */
const catchUpEveryMs = 250

const reader = new IndexReader(workerData as ReaderOptions)

const { started, tell } = answerCalls<SearchPart>({
  answer({ call, deadline: sharedDeadline, part }) {
    const deadline = sharedDeadline - performance.timeOrigin
    const tooLate: SearchReply = { outcome: { outcome: 'timed_out' }, state: null }
    return performance.now() > deadline ? tooLate : reader.answer(call, deadline, part)
  },
})
let fails = false
reader.onVectorFile = (error) => {
  if (error !== null) void tell({ failed: sentError(error) } satisfies ThreadNotification)
  else if (fails) void tell({ worked: true } satisfies ThreadNotification)
  fails = error !== null
}
reader.onDoubt = (doubtful) => void tell({ doubtful } satisfies ThreadNotification)
started()
void keepUp()

async function keepUp(): Promise<never> {
  for (;;) {
    await reader.catchUp()
    await sleep(catchUpEveryMs)
  }
}
