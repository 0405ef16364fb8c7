/** The colours of both pictures. */
export const ink = { text: '#12313f', quiet: '#5f7a86', line: '#d9e4e8', sea: '#1590a3', sand: '#e0883a' }

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** Cuts a text at a number of characters. Characters of wide scripts count twice. */
export function shortened(text: string, lettersMax: number): string {
  let width = 0
  for (const [i, letter] of [...text].entries()) {
    width += letter > '\u2e7f' ? 2 : 1
    if (width > lettersMax) return `${[...text].slice(0, i).join('').trimEnd()}…`
  }
  return text
}

export interface Label {
  readonly x: number
  readonly y: number
  readonly size?: number
  readonly fill?: string
  readonly weight?: number
  readonly anchor?: 'start' | 'middle' | 'end'
}

export function label(
  text: string,
  { x, y, size = 13, fill = ink.text, weight = 400, anchor = 'start' }: Label,
): string {
  const attributes = `x="${x}" y="${y}" font-size="${size}" font-weight="${weight}" fill="${fill}" text-anchor="${anchor}"`
  return `<text ${attributes}>${escaped(text)}</text>`
}

/** A card with a heading, on any background. */
export function card(
  width: number,
  height: number,
  title: string,
  subtitle: string,
  shapes: readonly string[],
): string {
  const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" font-family="${font}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" rx="14" fill="#fbfdfd" stroke="${ink.line}" />`,
    label(title, { x: 28, y: 42, size: 20, weight: 650 }),
    label(subtitle, { x: 28, y: 64, fill: ink.quiet }),
    ...shapes,
    '</svg>',
  ].join('\n')}\n`
}
