import type { Command } from 'commander'
import { ConsumerClient, RefusedByServer } from '../mirror/consumer-client.ts'
import type { MirrorNews } from '../mirror/keep-copy.ts'
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
    .option('--key <key>', 'a consumer key (default: TIDEMARK_KEY, which other users of the machine cannot see)')
    .requiredOption('--to <copy>', 'FILE.sqlite, postgres://… or a folder for Parquet files')
    .option('--once', 'exit when the copy is up to date (default: keep following)')
    .option(
      '--verify',
      'bring the copy up to date, compare all of it with the server, and exit; exit code 1 if it differs',
    )
    .action(async (options: MirrorOptions) => {
      const key = options.key ?? context.environment.TIDEMARK_KEY
      if (!key) return program.error('error: no consumer key: set TIDEMARK_KEY or use --key')
      if (!/^https?:$/.test(URL.parse(options.url)?.protocol ?? '')) {
        return program.error('error: --url must be an address such as http://127.0.0.1:8080')
      }
      const ended = new AbortController()
      void untilSignal().then((signal) => ended.abort(new Error(`stopped by ${signal}`)))
      try {
        await run(context, { ...options, key }, ended.signal)
      } catch (error) {
        // Asked to end, it ends: what is saved is whole.
        if (ended.signal.aborted) return
        // What the system says is of the copy, not of an instance on this machine; its address may hold a password.
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
    const say = (line: string): void => context.warn(line)
    const client = new ConsumerClient({ server: options.url, key: options.key, aborted, say })
    const follow = (tell: (news: MirrorNews) => void, once: boolean) => keepCopy({ client, copy, tell }, once)
    await follow(inWords(context), options.once === true || options.verify === true)
    if (options.verify !== true) return
    const { verifyCopy } = await import('../mirror/verify-copy.ts')
    const progress = new Progress()
    const { equal, different } = await verifyCopy({
      client,
      copy,
      follow: () => follow(() => {}, true),
      differs: (one) => context.say(differenceInWords(one)),
      tell: (documents) => progress.show({ done: 0, total: null, text: `compared: ${documents} documents` }),
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

/** A bar while everything is exported, then how far behind the copy is. */
function inWords(context: Context): (news: MirrorNews) => void {
  let progress = new Progress()
  let isInStep = false
  return (news) => {
    if (news.about === 'anew') {
      context.warn(`starting over: ${news.why}`)
      progress = new Progress()
    } else if (news.about === 'export') {
      const { documents, total } = news
      const state = { done: documents, total, text: `exported: ${documents} documents` }
      if (documents === total) progress.end(state)
      else progress.show(state)
    } else if (news.about === 'follow') {
      isInStep = false
      progress.show({
        done: 0,
        total: null,
        text: `followed: ${news.events} events, ${duration(news.behindMs)} behind`,
      })
    } else if (!isInStep) {
      isInStep = true
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
