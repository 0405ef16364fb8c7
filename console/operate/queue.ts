import { type ComponentChild, Fragment, h } from 'preact'
import { addressOf } from '../app/address-of.ts'
import { go, type Place } from '../app/router.ts'
import { ListStatus } from './list-status.ts'
import { MoreButton } from './more-button.ts'
import { usePages } from './read.ts'
import { Table, type TableProps } from './table.ts'

const everyMs = 5_000

export interface QueueProps<Item> extends Omit<TableProps<Item>, 'rows'> {
  readonly place: Place
  /** The path in the API, and the name of the list in its response. */
  readonly path: string
  readonly name: string
  /** Shown if the list is empty, without and with finished items. */
  readonly none: { readonly unfinished: string; readonly all: string }
}

/** Whether finished items are listed too. */
export const isAll = (place: Place): boolean => place.query.get('all') === '1'

/** Lists pending and running items, the newest first, and polls them. Lists finished ones on request. */
export function Queue<Item>({ place, path, name, none, ...table }: QueueProps<Item>): ComponentChild {
  const all = isAll(place)
  const { items, fault, more } = usePages<Item>(path, name, all ? {} : { unfinished: true }, everyMs)
  return h(
    Fragment,
    null,
    h(
      'div',
      { class: 'filters' },
      h(
        'label',
        { class: 'check' },
        h('input', {
          type: 'checkbox',
          checked: all,
          onChange: () => go(addressOf(place.path, { all: all ? '' : '1' })),
        }),
        'Include finished ones',
      ),
    ),
    h(ListStatus, { fault, isKnown: items !== null, isEmpty: items?.length === 0 }, all ? none.all : none.unfinished),
    items === null || items.length === 0 ? null : h(Table<Item>, { ...table, rows: items }),
    h(MoreButton, { more }),
  )
}
