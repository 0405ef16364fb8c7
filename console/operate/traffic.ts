import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { askRaw, inWords } from '../app/ask.ts'
import {
  type Answered,
  answersOf,
  type Between,
  bucketsOf,
  quantile,
  readMetrics,
  type Series,
  since,
  soleValue,
} from './metrics-text.ts'
import { repeat } from './read.ts'
import { Table } from './table.ts'
import { Tile, type TileProps } from './tile.ts'
import { count, counted, latency, rate, size } from './words.ts'

const everyMs = 5_000
/** Console files and probes, which nobody waits for. */
const isOfBrowsers = /^(pages|health)\./

interface Look {
  readonly at: number
  readonly series: Series
  readonly answers: ReadonlyMap<string, Answered>
}

interface Row extends Answered {
  /** Requests per second since the last sample; null before the second sample. */
  readonly perSecond: number | null
  readonly median: Between | null
  readonly slow: Between | null
}

/** Shows this process's operations, their rates and times: since its start, and between the last two samples. */
export function Traffic(): ComponentChild {
  const looks = useSignal<readonly Look[]>([])
  const fault = useSignal<string | null>(null)
  useEffect(() => {
    const leaving = new AbortController()
    const look = async (): Promise<void> => {
      try {
        const answer = await askRaw('GET', '/metrics', { as: 'admin', signal: leaving.signal })
        const series = readMetrics(await answer.text())
        looks.value = [...looks.value.slice(-1), { at: performance.now(), series, answers: answersOf(series) }]
        fault.value = null
      } catch (error) {
        fault.value = inWords(error) ?? fault.value
      }
    }
    repeat(look, everyMs, leaving.signal)
    return () => leaving.abort()
  }, [])
  const [before, now] = looks.value.length === 2 ? looks.value : [null, looks.value[0]]
  if (fault.value !== null) return h('p', { class: 'notice bad', role: 'alert' }, fault.value)
  if (now === undefined) return null
  const rows = [...now.answers.values()]
    .filter(({ operation }) => !isOfBrowsers.test(operation))
    .map((one) => rowOf(one, before, now))
    .sort((a, b) => b.requests - a.requests)
  const lately = rows.reduce((sum, { perSecond }) => sum + (perSecond ?? 0), 0)
  return h(
    'section',
    { 'aria-labelledby': 'traffic' },
    h('h2', { id: 'traffic' }, 'This process'),
    h(
      'dl',
      { class: 'tiles' },
      h(Tile, {
        name: 'Requests',
        value: before === null ? '…' : rate(lately),
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

/** Says how many applications read the feed, and how many events a page leaves them behind its end. */
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
          : // Each bucket is ten times as wide as the one before, so interpolation would invent a figure.
            `Some pages left readers more than ${counted(behind.moreThan, 'event')} behind`
  return { value: counted(readers, 'reader'), note }
}

function latencyOf(between: Between | null): string {
  if (between === null) return ''
  const { moreThan, atMost, part } = between
  return atMost === Number.POSITIVE_INFINITY ? `> ${latency(moreThan)}` : latency(moreThan + part * (atMost - moreThan))
}

function rowOf(one: Answered, before: Look | null, now: Look): Row {
  const perSecond =
    before === null
      ? null
      : since(before.answers.get(one.operation), one).requests / Math.max(0.001, (now.at - before.at) / 1000)
  return { ...one, perSecond, median: quantile(one, 0.5), slow: quantile(one, 0.95) }
}
