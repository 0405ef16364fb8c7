import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { callApiRaw, inWords } from '../app/call-api.ts'
import {
  type BucketBounds,
  bucketsOf,
  increaseSince,
  type OperationStats,
  quantile,
  readMetrics,
  type Series,
  soleValue,
  statsByOperation,
} from './metrics-text.ts'
import { repeat } from './read.ts'
import { Table } from './table.ts'
import { Tile, type TileProps } from './tile.ts'
import { count, counted, latency, rate, size } from './words.ts'

const everyMs = 5_000
/** The table leaves out the files of the console and health probes. */
const hiddenOperations = /^(pages|health)\./

interface Scrape {
  readonly at: number
  readonly series: Series
  readonly stats: ReadonlyMap<string, OperationStats>
}

interface Row extends OperationStats {
  /** Requests per second between the last two scrapes; null before the second one. */
  readonly perSecond: number | null
  readonly median: BucketBounds | null
  readonly slow: BucketBounds | null
}

/**
 * Shows the requests of this process by operation. Rates are between the last two scrapes, other figures since its
 * start.
 */
export function Traffic(): ComponentChild {
  const scrapes = useSignal<readonly Scrape[]>([])
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    const scrape = async (): Promise<void> => {
      try {
        const answer = await callApiRaw('GET', '/metrics', { as: 'admin', signal: controller.signal })
        const series = readMetrics(await answer.text())
        scrapes.value = [...scrapes.value.slice(-1), { at: performance.now(), series, stats: statsByOperation(series) }]
        fault.value = null
      } catch (error) {
        fault.value = inWords(error) ?? fault.value
      }
    }
    repeat(scrape, everyMs, controller.signal)
    return () => controller.abort()
  }, [])
  const [before, now] = scrapes.value.length === 2 ? scrapes.value : [null, scrapes.value[0]]
  if (fault.value !== null) return h('p', { class: 'notice bad', role: 'alert' }, fault.value)
  if (now === undefined) return null
  const rows = [...now.stats.values()]
    .filter(({ operation }) => !hiddenOperations.test(operation))
    .map((one) => rowOf(one, before, now))
    .sort((a, b) => b.requests - a.requests)
  const totalPerSecond = rows.reduce((sum, { perSecond }) => sum + (perSecond ?? 0), 0)
  return h(
    'section',
    { 'aria-labelledby': 'traffic' },
    h('h2', { id: 'traffic' }, 'This process'),
    h(
      'dl',
      { class: 'tiles' },
      h(Tile, {
        name: 'Requests',
        value: before === null ? '…' : rate(totalPerSecond),
        note: before === null ? 'per second (measuring)' : 'per second right now',
      }),
      h(Tile, { name: 'Change feed', ...feedInWords(now.series) }),
      h(Tile, {
        name: 'Memory',
        value: size(soleValue(now.series, 'process_resident_memory_bytes') ?? 0),
        note: 'of the process that answered',
      }),
    ),
    h(Table<Row>, {
      label: 'Requests by operation',
      keyOf: ({ operation }) => operation,
      rows,
      columns: [
        { title: 'Operation', cell: ({ operation }) => h('code', null, operation) },
        { title: 'Requests', isNumber: true, cell: ({ requests }) => count(requests) },
        { title: 'Per second', isNumber: true, cell: ({ perSecond }) => (perSecond === null ? '…' : rate(perSecond)) },
        { title: 'Median', isNumber: true, cell: ({ median }) => latencyOf(median) },
        { title: '95th percentile', isNumber: true, cell: ({ slow }) => latencyOf(slow) },
        {
          title: 'Failed',
          isNumber: true,
          cell: ({ failures }) =>
            failures === 0
              ? '0'
              : h('strong', { class: 'bad-number', title: 'Responses with a 5xx status' }, count(failures)),
        },
      ],
    }),
  )
}

/** Says how many applications read the feed, and how far behind its end they are after a page. */
function feedInWords(series: Series): Pick<TileProps, 'value' | 'note'> {
  const readers = soleValue(series, 'tidemark_feed_readers') ?? 0
  const behind = quantile(bucketsOf(series, 'tidemark_feed_behind_events'), 0.95)
  const note =
    behind === null
      ? 'Not read yet'
      : behind.atMost === 0
        ? 'Readers are up to date'
        : behind.moreThan === 0
          ? `Pages left readers at most ${counted(behind.atMost, 'event')} behind`
          : // Each bucket is ten times as wide as the one before, too wide to interpolate.
            `Some pages left readers more than ${counted(behind.moreThan, 'event')} behind`
  return { value: counted(readers, 'reader'), note }
}

function latencyOf(between: BucketBounds | null): string {
  if (between === null) return ''
  const { moreThan, atMost, part } = between
  return atMost === Number.POSITIVE_INFINITY ? `> ${latency(moreThan)}` : latency(moreThan + part * (atMost - moreThan))
}

function rowOf(one: OperationStats, before: Scrape | null, now: Scrape): Row {
  const perSecond =
    before === null
      ? null
      : increaseSince(before.stats.get(one.operation), one).requests / Math.max(0.001, (now.at - before.at) / 1000)
  return { ...one, perSecond, median: quantile(one, 0.5), slow: quantile(one, 0.95) }
}
