import { setTimeout as sleep } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { answerCalls } from '../../../threads/answer-calls.ts'
import { sentError } from '../../../threads/frames.ts'
import type { ThreadNotification } from '../memory/thread-messages.ts'
import { IndexReader } from '../query/index-reader.ts'
import type { ReaderOptions, SearchReply } from '../query/reader-calls.ts'
import type { SearchPart } from '../query/split-search.ts'

/** The least time between two catch-ups, so that changes in between are taken together. */
const catchUpEveryMs = 250

const reader = new IndexReader(workerData as ReaderOptions)

const { started, notify } = answerCalls<SearchPart>({
  answer({ call, deadline: sharedDeadline, part }) {
    const deadline = sharedDeadline - performance.timeOrigin
    const timedOut: SearchReply = { outcome: { outcome: 'timed_out' }, state: null }
    return performance.now() > deadline ? timedOut : reader.answer(call, deadline, part)
  },
})
let isFailing = false
reader.onVectorFile = (error) => {
  if (error !== null) void notify({ failed: sentError(error) } satisfies ThreadNotification)
  else if (isFailing) void notify({ worked: true } satisfies ThreadNotification)
  isFailing = error !== null
}
reader.onSuspectVectors = (suspect) => void notify({ suspect } satisfies ThreadNotification)
started()
void followChanges()

async function followChanges(): Promise<never> {
  for (;;) {
    await reader.catchUp()
    await sleep(catchUpEveryMs)
  }
}
