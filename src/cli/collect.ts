import type { Command } from 'commander'
import type { Context } from './context.ts'
import { untilSignal } from './shutdown.ts'

export function collect(program: Command, context: Context): void {
  program
    .command('collect')
    .description('Collect content and send it to a server through the collector API.')
    .command('feeds')
    .description('Collect RSS, Atom and JSON feeds. docs/collectors.md describes the file.')
    .argument('<file>', 'YAML: server, key or key_env, dataset, platform, feeds')
    .option('--once', 'read every feed once, then exit (default: keep reading)')
    .option('--serve', 'also work on live collection tasks of the platform')
    .option('--allow-private-addresses', 'also fetch from private, loopback and link-local addresses')
    .action(async (path: string, options: { once?: true; serve?: true; allowPrivateAddresses?: true }) => {
      // Loaded here because no other command needs a feed parser.
      const { readFeedsFile } = await import('../feeds/feeds-file.ts')
      const { collectFeeds } = await import('../feeds/collect-feeds.ts')
      const read = readFeedsFile(path, context.environment)
      const config = options.allowPrivateAddresses ? { ...read, allows: () => true } : read
      const ended = new AbortController()
      void untilSignal().then((signal) => ended.abort(new Error(`stopped by ${signal}`)))
      const mode = { once: options.once === true, serve: options.serve === true }
      const say = (line: string): void => context.warn(line)
      const { failed, refused } = await collectFeeds(config, mode, say, ended.signal)
      if (mode.once && !ended.signal.aborted && failed + refused > 0) context.fail()
    })
}
