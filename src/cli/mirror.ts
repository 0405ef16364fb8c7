import type { Command } from 'commander'
import { ConsumerClient, RefusedByServer } from '../mirror/consumer-client.ts'
import type { MirrorProgress } from '../mirror/keep-copy.ts'
import type { Difference } from '../mirror/verify-copy.ts'
import type { Context } from './context.ts'
import { duration, Progress } from './progress.ts'
import { untilSignal } from './shutdown.ts'

interface MirrorOptions {
  readonly url: string
  readonly key?: string
  readonly to: string
  readonly once?: true
  readonly verify?: true
}

export function mirror(program: Command, context: Context): void {
  program
    .command('mirror')
    .description('Keep a copy of everything an application may read, through the public API.')
    .requiredOption('--url <url>', 'address of the server')
    .option('--key <key>', 'an application key (default: TIDEMARK_KEY, which other users of the machine cannot see)')
    .requiredOption('--to <copy>', 'FILE.sqlite, postgres://… or a folder for Parquet files')
    .option('--once', 'exit when the copy is up to date (default: keep following)')
    .option(
      '--verify',
      'bring the copy up to date, compare all of it with the server, and exit; exit code 1 if it differs',
    )
    .action(async (options: MirrorOptions) => {
      const key = options.key ?? context.environment.TIDEMARK_KEY
      if (!key) return program.error('error: no application key: set TIDEMARK_KEY or use --key')
      if (!/^https?:$/.test(URL.parse(options.url)?.protocol ?? '')) {
        return program.error('error: --url must be an address such as http://127.0.0.1:8080')
      }
      const ended = new AbortController()
      void untilSignal().then((signal) => ended.abort(new Error(`stopped by ${signal}`)))
      try {
        await run(context, { ...options, key }, ended.signal)
      } catch (error) {
        // A signal is a normal end: the saved copy is consistent.
        if (ended.signal.aborted) return
        // A system error is about the copy, not about an instance on this machine. The message leaves out the copy's
        // address, which may hold a password.
        const { code, message } = error as NodeJS.ErrnoException
        const isOfCopy = code !== undefined && !(error instanceof RefusedByServer)
        throw isOfCopy ? new Error(`the copy cannot be used: ${message}`, { cause: error }) : error
      }
    })
}

async function run(context: Context, options: MirrorOptions & { key: string }, aborted: AbortSignal): Promise<void> {
  const { openCopy } = await import('../mirror/open-copy.ts')
  const { keepCopy } = await import('../mirror/keep-copy.ts')
  const copy = await openCopy(options.to)
  try {
    const report = (line: string): void => context.warn(line)
    const client = new ConsumerClient({ server: options.url, key: options.key, aborted, report })
    const follow = (show: (progress: MirrorProgress) => void, once: boolean) =>
      keepCopy({ client, copy, report: show }, once)
    await follow(inWords(context), options.once === true || options.verify === true)
    if (options.verify !== true) return
    const { verifyCopy } = await import('../mirror/verify-copy.ts')
    const progress = new Progress()
    const { equal, different } = await verifyCopy({
      client,
      copy,
      follow: () => follow(() => {}, true),
      differs: (one) => context.say(differenceInWords(one)),
      report: (documents) => progress.show({ done: 0, total: null, text: `compared: ${documents} documents` }),
    })
    if (different === 0) context.say(`equal: ${equal} documents`)
    else {
      context.say(`different: ${different} documents; equal: ${equal}`)
      context.fail()
    }
  } finally {
    await copy.close()
  }
}

/** Shows a bar during the export, then how far the copy is behind. */
function inWords(context: Context): (report: MirrorProgress) => void {
  let progress = new Progress()
  let isUpToDate = false
  return (report) => {
    if (report.about === 'restart') {
      context.warn(`starting over: ${report.why}`)
      progress = new Progress()
    } else if (report.about === 'export') {
      const { documents, total } = report
      const state = { done: documents, total, text: `exported: ${documents} documents` }
      if (documents === total) progress.end(state)
      else progress.show(state)
    } else if (report.about === 'follow') {
      isUpToDate = false
      progress.show({
        done: 0,
        total: null,
        text: `followed: ${report.events} events, ${duration(report.behindMs)} behind`,
      })
    } else if (!isUpToDate) {
      isUpToDate = true
      progress.end({ done: 0, total: null, text: 'up to date' })
    }
  }
}

const differenceInWords = ({ id, what, fields }: Difference): string => {
  if (what === 'missing') return `${id}: missing from the copy`
  return what === 'superfluous'
    ? `${id}: not on the server, or not readable by this application`
    : `${id}: ${fields.join(', ')}`
}
