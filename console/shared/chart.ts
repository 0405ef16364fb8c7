import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { inWords } from '../app/call-api.ts'
import { loadStyles } from '../app/load-styles.ts'
import { theme } from '../app/theme.ts'

export interface ChartProps {
  /** A description for readers who cannot see the chart. */
  readonly label: string
  readonly kind: 'line' | 'bars'
  /** In seconds since the epoch, ascending. */
  readonly times: readonly number[]
  readonly values: readonly (number | null)[]
  readonly heightPx: number
  /** The start and end of the time axis in seconds. By default, the first and last of the times. */
  readonly span?: readonly [from: number, to: number]
}

/** Draws one quantity over time. The chart library is loaded when the first chart is shown. */
export function Chart({ label, kind, times, values, heightPx, span }: ChartProps): ComponentChild {
  const element = useRef<HTMLDivElement>(null)
  const chart = useRef<uPlot | null>(null)
  const fault = useSignal<string | null>(null)
  const dark = useSignal(0)
  useEffect(() => {
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const changed = (): void => {
      dark.value += 1
    }
    scheme.addEventListener('change', changed)
    return () => scheme.removeEventListener('change', changed)
  }, [])
  const data: uPlot.AlignedData = [times as number[], values as (number | null)[]]
  const latest = useRef({ data, span })
  latest.current = { data, span }

  // A canvas keeps its colours, so a new theme needs a new chart.
  useEffect(() => {
    let isGone = false
    const box = element.current!
    const widened = new ResizeObserver(() => chart.current?.setSize({ width: box.clientWidth, height: heightPx }))
    Promise.all([import('uplot'), loadStyles('packages/uplot/dist/uPlot.min.css')]).then(
      ([{ default: Plot }]) => {
        if (isGone) return
        const isInteger = latest.current.data[1]!.every((value) => value === null || Number.isInteger(value))
        const options = optionsOf(Plot, kind, box, heightPx, isInteger, () => latest.current.span)
        chart.current = new Plot(options, latest.current.data, box)
        widened.observe(box)
      },
      (error: unknown) => {
        fault.value = inWords(error)
      },
    )
    return () => {
      isGone = true
      widened.disconnect()
      chart.current?.destroy()
      chart.current = null
    }
  }, [kind, heightPx, theme.value, dark.value])
  useEffect(() => chart.current?.setData(data), [JSON.stringify([data, span])])

  return h(
    'div',
    { class: 'chart' },
    h('div', { ref: element, role: 'img', 'aria-label': label, style: { height: `${heightPx}px` } }),
    fault.value === null ? null : h('p', { class: 'note' }, `The chart could not be drawn. ${fault.value}`),
  )
}

function optionsOf(
  Plot: typeof uPlot,
  kind: ChartProps['kind'],
  box: HTMLElement,
  height: number,
  isInteger: boolean,
  span: () => ChartProps['span'],
): uPlot.Options {
  const colour = (name: string): string => {
    // A canvas does not understand light-dark(), so an element computes the colour.
    box.style.color = `var(--${name})`
    const resolved = getComputedStyle(box).color
    box.style.color = ''
    return resolved
  }
  const [line, soft, sea] = [colour('line'), colour('soft'), colour('sea')]
  const axis = { stroke: soft, font: '11px system-ui', grid: { stroke: line, width: 1 }, ticks: { show: false } }
  const bars = Plot.paths.bars!({ size: [0.8, 24], radius: 0.15 })
  return {
    width: box.clientWidth,
    height,
    legend: { show: false },
    padding: [8, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: true, range: (_, from, to) => [...(span() ?? padded(from, to))] as [number, number] },
      y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] },
    },
    axes: [
      { ...axis, grid: { show: false }, space: 70, size: 24, values: (_, ticks) => ticks.map(wordsOfTick(ticks)) },
      {
        ...axis,
        size: 44,
        space: 22,
        ...(isInteger && { incrs: integerSteps }),
        values: (_, ticks) => ticks.map((tick) => short.format(tick)),
      },
    ],
    series: [
      {},
      kind === 'bars'
        ? { paths: bars, fill: sea, stroke: sea, width: 0, points: { show: false } }
        : { stroke: sea, width: 2, points: { show: true, size: 6, fill: sea } },
    ],
  }
}

/** The distances between ticks of counts, which are whole numbers. */
const integerSteps = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()

const short = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })

/** Widens the time axis: points at its edges would be cut in half, and a single point needs some width around it. */
function padded(from: number, to: number): readonly [number, number] {
  const edge = Math.max(60, (to - from) * 0.06)
  return [from - edge, to + edge]
}

/** Labels ticks with dates if they are at least a day apart, and otherwise with times of day. */
function wordsOfTick(ticks: readonly number[]): (tick: number) => string {
  const isDays = ticks.length > 1 && ticks[1]! - ticks[0]! >= 86_400
  const format = new Intl.DateTimeFormat(
    undefined,
    isDays ? { day: 'numeric', month: 'short' } : { hour: '2-digit', minute: '2-digit' },
  )
  return (tick) => format.format(tick * 1000)
}
