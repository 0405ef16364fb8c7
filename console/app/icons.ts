import { type ComponentChild, h } from 'preact'

/** Paths in a box of 24 by 24, with a stroke of 1.75. */
const paths = {
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 20.5 20.5',
  documents: 'M7 3.5h7l4 4v13H7zM14 3.5v4h4M10 12h5M10 16h5',
  changes: 'M3 13h4l2.5-7 4.5 12 2.5-7 1 2H21',
  analysis:
    'M6 18a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM18 9a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM17 20a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7.6 14.8l8.6-6.6M8 16.4l7 1.2M17.7 9.2l-.5 6.6',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5c.8-3.6 3.8-5.5 7.5-5.5s6.7 1.9 7.5 5.5',
  reference: 'M4.5 5c2.5-1 5-1 7.5.5 2.5-1.5 5-1.5 7.5-.5v13.5c-2.5-1-5-1-7.5.5-2.5-1.5-5-1.5-7.5-.5zM12 5.5v13.5',
  home: 'M4 11l8-7 8 7v9h-5.5v-6h-5v6H4z',
  gauge: 'M4 17a8 8 0 1 1 16 0M12 17l4-6',
  key: 'M8.5 19a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM11.5 12.3 19.5 4.5M16 8l3 3',
  stack: 'M12 4l8.5 4.5L12 13 3.5 8.5zM3.5 12.5 12 17l8.5-4.5M3.5 16.5 12 21l8.5-4.5',
  erase: 'M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13M10.5 11v5.5M13.5 11v5.5',
  collector: 'M12 4v10M7.5 10 12 14.5 16.5 10M4.5 15v4.5h15V15',
  queue: 'M4.5 6h15M4.5 12h15M4.5 18h9',
  chart: 'M4.5 4.5v15h15M8.5 15.5v-4M12.5 15.5v-8M16.5 15.5v-6',
  audit: 'M6 3.5h12v17l-3-2-3 2-3-2-3 2zM9 8.5h6M9 12.5h6',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.5v2.5M12 19v2.5M2.5 12H5M19 12h2.5M5.3 5.3l1.8 1.8M16.9 16.9l1.8 1.8M18.7 5.3l-1.8 1.8M7.1 16.9l-1.8 1.8',
  moon: 'M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z',
  half: 'M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 4v16M14.5 5v14M17 7v10',
  leave: 'M10 4.5H5v15h5M14.5 8 18.5 12l-4 4M18.5 12H9.5',
  code: 'M8.5 7.5 4 12l4.5 4.5M15.5 7.5 20 12l-4.5 4.5',
  link: 'M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.3l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3A4 4 0 0 0 11 18.7l1-1',
  close: 'M6 6l12 12M18 6 6 18',
  pause: 'M8.5 5.5v13M15.5 5.5v13',
  play: 'M7.5 5l11 7-11 7z',
  out: 'M14 4.5h5.5V10M19.5 4.5 11 13M17.5 14v5.5h-13v-13H10',
} as const
export type IconName = keyof typeof paths

export const icon = (name: IconName): ComponentChild =>
  h(
    'svg',
    { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' },
    h('path', { d: paths[name] }),
  )
