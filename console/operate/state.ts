import { type ComponentChild, h } from 'preact'

const tones: Readonly<Record<string, string>> = {
  ok: 'good',
  active: 'good',
  succeeded: 'good',
  completed: 'good',
  running: 'blue',
  validating: 'blue',
  erasing: 'blue',
  queued: 'warn',
  pending: 'warn',
  warning: 'warn',
  'expires soon': 'warn',
  failed: 'bad',
  failure: 'bad',
  timed_out: 'bad',
  revoked: 'bad',
  expired: 'bad',
}

/** Shows a state as a coloured word. */
export const state = (word: string): ComponentChild =>
  h('span', { class: 'state', 'data-tone': tones[word] ?? 'plain' }, word.replaceAll('_', ' '))
