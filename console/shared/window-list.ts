import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export interface WindowListProps<Item> {
  readonly label: string
  readonly items: readonly Item[]
  /** The height of every row in rem. */
  readonly rowRem: number
  readonly keyOf: (item: Item) => string
  readonly row: (item: Item) => ComponentChild
  /** Whether an unknown number of rows may follow. */
  readonly isOpenEnded: boolean
  /** Called with the range of visible rows when it changes. */
  readonly seen?: (first: number, last: number) => void
}

/** This many rows are drawn beyond each edge, so that scrolling shows no gap and the arrow keys find the next row. */
const overscan = 12

/** A virtual list. It draws only the visible rows, so its cost does not depend on its length. */
export function WindowList<Item>(props: WindowListProps<Item>): ComponentChild {
  const { label, items, rowRem, keyOf, row, isOpenEnded, seen } = props
  const list = useRef<HTMLUListElement>(null)
  const range = useSignal({ first: 0, last: 3 * overscan })
  const rowPx = rowRem * rootFontPx()
  const count = items.length
  useEffect(() => {
    const update = (): void => {
      const top = -(list.current?.getBoundingClientRect().top ?? 0)
      const first = Math.max(0, Math.min(count - 1, Math.floor(top / rowPx)))
      const last = Math.max(first, Math.min(count, Math.ceil((top + innerHeight) / rowPx)))
      if (first !== range.value.first || last !== range.value.last) range.value = { first, last }
    }
    let frame = 0
    const schedule = (): void => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(update)
    }
    update()
    addEventListener('scroll', schedule, { passive: true })
    addEventListener('resize', schedule)
    return () => {
      cancelAnimationFrame(frame)
      removeEventListener('scroll', schedule)
      removeEventListener('resize', schedule)
    }
  }, [count, rowPx])
  const { first, last } = range.value
  useEffect(() => seen?.(first, Math.min(last, count)), [first, last, count])
  const from = Math.max(0, first - overscan)
  return h(
    'ul',
    { class: 'window-list', ref: list, 'aria-label': label, style: { height: `${count * rowPx}px` }, onKeyDown: move },
    items.slice(from, last + overscan).map((item, i) =>
      h(
        'li',
        {
          key: keyOf(item),
          style: { height: `${rowPx}px`, transform: `translateY(${(from + i) * rowPx}px)` },
          'aria-posinset': from + i + 1,
          'aria-setsize': isOpenEnded ? -1 : count,
        },
        row(item),
      ),
    ),
  )
}

const rootFontPx = (): number => Number.parseFloat(getComputedStyle(document.documentElement).fontSize)

/** Arrow keys move from row to row. */
function move(event: KeyboardEvent): void {
  const at = (event.target as Element).closest('li')
  const next =
    event.key === 'ArrowDown'
      ? at?.nextElementSibling
      : event.key === 'ArrowUp'
        ? at?.previousElementSibling
        : undefined
  const link = next?.querySelector<HTMLElement>('a, button')
  if (!link) return
  event.preventDefault()
  link.focus()
}
