/**
 * The checker of `tidemark mirror` over many events: writers, updates, metrics, erasures, and kills of server and mirror
 * by counts; at the end the copy must equal what the server says, field by field. It is the checker of the feed, which
 * has a mirror beside it; arguments as there, `--postgres` with three processes that answer.
 *
 *   npm run bench -- mirror [--events 200000] [--writers 12] [--seed N] [--postgres]
 */
export { run } from './feed-checker.ts'
