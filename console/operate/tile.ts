import { type ComponentChild, h } from 'preact'

export interface TileProps {
  readonly name: string
  readonly value: string
  readonly note: string
}

/** One figure that is looked at from across the room, with what it means. */
export function Tile({ name, value, note }: TileProps): ComponentChild {
  return h(
    'div',
    { class: 'card tile' },
    h('dt', null, name),
    h('dd', { class: 'tile-value' }, value),
    h('dd', { class: 'note' }, note),
  )
}
