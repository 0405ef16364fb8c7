import { useSignal } from '@preact/signals'
import { type ComponentChild, Fragment, h } from 'preact'

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => ComponentChild
  readonly isNumber?: boolean
  /** Whether the column has buttons. They are aligned right. */
  readonly isTools?: boolean
}

export interface TableProps<Row> {
  /** The name of the table for screen readers. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
}

/** At first, a table draws this many rows, because thousands would block the page. A button draws more. */
const rowsAtOnce = 200

/** A table. On a phone each row is a card, and each cell names its column. */
export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>): ComponentChild {
  const shown = useSignal(rowsAtOnce)
  return h(
    Fragment,
    null,
    h(
      'div',
      { class: 'table-frame', tabindex: 0, role: 'region', 'aria-label': label },
      h(
        'table',
        { role: 'table' },
        h(
          'thead',
          { role: 'rowgroup' },
          h(
            'tr',
            { role: 'row' },
            columns.map(({ title, isNumber, isTools }) =>
              h(
                'th',
                { key: title, role: 'columnheader', class: isNumber ? 'number' : isTools ? 'tools' : undefined },
                title,
              ),
            ),
          ),
        ),
        h(
          'tbody',
          { role: 'rowgroup' },
          rows.slice(0, shown.value).map((row) =>
            h(
              'tr',
              { key: keyOf(row), role: 'row' },
              columns.map(({ title, cell, isNumber }) =>
                h(
                  'td',
                  { key: title, role: 'cell', 'data-label': title, class: isNumber ? 'number' : undefined },
                  cell(row),
                ),
              ),
            ),
          ),
        ),
      ),
    ),
    rows.length > shown.value
      ? h(
          'button',
          {
            type: 'button',
            class: 'button small more',
            onClick: () => {
              shown.value += rowsAtOnce
            },
          },
          `Show more (${rows.length.toLocaleString()} in all)`,
        )
      : null,
  )
}
