import { type ComponentChild, h } from 'preact'
import { ListStatus } from './list-status.ts'
import { type Tagged, useRead } from './read.ts'
import { type Edit, type Subject, useEdit } from './use-edit.ts'

export interface EditingProps<Body, Fields> extends Omit<Subject<Body, Fields>, 'path' | 'first'> {
  /** The path of the object; null for a new one. */
  readonly path: string | null
  /** The initial content of a new one. */
  readonly empty: Body
  readonly form: (edit: Edit<Fields>) => ComponentChild
}

/** Opens a form for a new object, or for one that is read again first, because the list may be outdated. */
export function Editing<Body, Fields extends Readonly<Record<string, unknown>>>(
  props: EditingProps<Body, Fields>,
): ComponentChild {
  const { path, empty } = props
  return path === null
    ? h(Opened<Body, Fields>, { ...props, path: '', first: { body: empty, tag: null } })
    : h(Stored<Body, Fields>, { ...props, path })
}

type StoredProps<Body, Fields> = EditingProps<Body, Fields> & { readonly path: string }

function Stored<Body, Fields extends Readonly<Record<string, unknown>>>(
  props: StoredProps<Body, Fields>,
): ComponentChild {
  const { body, tag, fault } = useRead<Body>(props.path)
  return body === null
    ? h(ListStatus, { fault, isKnown: false, isEmpty: false })
    : h(Opened<Body, Fields>, { ...props, first: { body, tag } })
}

function Opened<Body, Fields extends Readonly<Record<string, unknown>>>({
  form,
  ...subject
}: StoredProps<Body, Fields> & { readonly first: Tagged<Body> }): ComponentChild {
  return form(useEdit<Body, Fields>(subject))
}
