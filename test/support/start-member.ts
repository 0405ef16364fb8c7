import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { type Channel, processChannel, threadChannel } from '../../src/threads/channel.ts'

const file = new URL('./pool-member.ts', import.meta.url)

/** Functions that start `pool-member.ts` as a thread or as a process and return the channel to it. */
export const memberChannels: Readonly<Record<'thread' | 'process', (...args: string[]) => Channel>> = {
  thread: (...argv) => threadChannel(new Worker(file, { argv, stderr: true })),
  process: (...argv) =>
    processChannel(fork(fileURLToPath(file), argv, { serialization: 'advanced', execArgv: [], stdio: 'ignore' })),
}
