import { type ComponentChild, Fragment, h } from 'preact'
import { addressOf } from '../app/address-of.ts'
import { go, type Place } from '../app/router.ts'
import { MoreButton } from './more-button.ts'
import { usePages } from './read.ts'
import { Standing } from './standing.ts'
import { Table, type TableProps } from './table.ts'

const everyMs = 5_000

export interface QueueProps<Item> extends Omit<TableProps<Item>, 'rows'> {
  readonly place: Place
  /** Where the API has it, and what its answer calls the list. */
  readonly path: string
  readonly name: string
  /** What is said where there is nothing: now, and ever. */
  readonly none: { readonly unfinished: string; readonly all: string }
}

/** Whether those that are over are asked for, too. */
export const isAll = (place: Place): boolean => place.query.get('all') === '1'

/** What waits and is under way, newest first, looked at again and again; those that are over, too, where they are asked for. */
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
    h(Standing, { fault, isKnown: items !== null, isEmpty: items?.length === 0 }, all ? none.all : none.unfinished),
    items === null || items.length === 0 ? null : h(Table<Item>, { ...table, rows: items }),
    h(MoreButton, { more }),
  )
}
