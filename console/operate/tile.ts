import { type ComponentChild, h } from 'preact'

export interface TileProps {
  readonly name: string
  readonly value: string
  readonly note: string
}

/** Shows one large figure with a note. */
export function Tile({ name, value, note }: TileProps): ComponentChild {
  return h(
    'div',
    { class: 'card tile' },
    h('dt', null, name),
    h('dd', { class: 'tile-value' }, value),
    h('dd', { class: 'note' }, note),
  )
}
