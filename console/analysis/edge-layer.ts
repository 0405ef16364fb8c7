import type Sigma from 'sigma'

/** One edge in this many is drawn more strongly: the first ones, because edges are sorted by strength. */
const strongShare = 6
const antialiasedMax = 20_000

/**
 * Draws all edges of a graph below sigma's nodes, in one WebGL call. Sigma itself would make an object of each edge and
 * upload them all again whenever a node moves. Here only node positions are uploaded; an edge is a pair of node numbers
 * that never changes.
 */
export class EdgeLayer {
  readonly #sigma: Sigma
  readonly #gl: WebGL2RenderingContext
  readonly #program: WebGLProgram
  readonly #positions: WebGLBuffer
  readonly #colours: WebGLBuffer
  readonly #all: { readonly buffer: WebGLBuffer; readonly count: number }
  readonly #chosen: { readonly buffer: WebGLBuffer; count: number }
  readonly #draw = (): void => this.draw()

  constructor(sigma: Sigma, edges: Uint32Array<ArrayBuffer>, nodes: number) {
    this.#sigma = sigma
    // Antialiasing is expensive, and many edges are each drawn too faintly for it to show.
    const antialias = edges.length / 2 < antialiasedMax
    const context = sigma.createWebGLContext('all-edges', { beforeLayer: 'edges', antialias } as never)
    const gl = context as unknown as WebGL2RenderingContext
    this.#gl = gl
    this.#program = programOf(gl)
    this.#positions = this.#attribute('position', 2, gl.FLOAT, false)
    this.#colours = this.#attribute('colour', 4, gl.UNSIGNED_BYTE, true)
    this.#all = { buffer: gl.createBuffer(), count: edges.length }
    this.#chosen = { buffer: gl.createBuffer(), count: 0 }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.#all.buffer)
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, edges, gl.STATIC_DRAW)
    this.colour(new Uint8Array(4 * nodes))
    gl.enable(gl.BLEND)
    sigma.resize(true)
    sigma.on('afterRender', this.#draw)
  }

  #attribute(name: string, size: number, type: number, normalized: boolean): WebGLBuffer {
    const gl = this.#gl
    const buffer = gl.createBuffer()
    const at = gl.getAttribLocation(this.#program, name)
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer)
    gl.enableVertexAttribArray(at)
    gl.vertexAttribPointer(at, size, type, normalized, 0, 0)
    return buffer
  }

  /** Sets x and y of every node. */
  setPositions(positions: Float32Array<ArrayBuffer>): void {
    this.#gl.bindBuffer(this.#gl.ARRAY_BUFFER, this.#positions)
    this.#gl.bufferData(this.#gl.ARRAY_BUFFER, positions, this.#gl.DYNAMIC_DRAW)
  }

  /**
   * Sets red, green, blue and visibility (255 or 0) of every node. An edge fades from one node's colour to the other's.
   */
  colour(colours: Uint8Array<ArrayBuffer>): void {
    this.#gl.bindBuffer(this.#gl.ARRAY_BUFFER, this.#colours)
    this.#gl.bufferData(this.#gl.ARRAY_BUFFER, colours, this.#gl.DYNAMIC_DRAW)
  }

  /** Highlights edges, given as pairs of node numbers. */
  choose(edges: Uint32Array<ArrayBuffer>): void {
    this.#chosen.count = edges.length
    this.#gl.bindBuffer(this.#gl.ELEMENT_ARRAY_BUFFER, this.#chosen.buffer)
    this.#gl.bufferData(this.#gl.ELEMENT_ARRAY_BUFFER, edges, this.#gl.DYNAMIC_DRAW)
  }

  draw(): void {
    const gl = this.#gl
    gl.clear(gl.COLOR_BUFFER_BIT)
    // Sigma's transformation is affine, so three corners of the unit square define it.
    const { width, height } = this.#sigma.getDimensions()
    const clip = (x: number, y: number): [number, number] => {
      const at = this.#sigma.graphToViewport({ x, y })
      return [(2 * at.x) / width - 1, 1 - (2 * at.y) / height]
    }
    const [x0, y0] = clip(0, 0)
    const [x1, y1] = clip(1, 0)
    const [x2, y2] = clip(0, 1)
    const matrix = [x1 - x0, y1 - y0, 0, x2 - x0, y2 - y0, 0, x0, y0, 1]
    gl.useProgram(this.#program)
    gl.uniformMatrix3fv(gl.getUniformLocation(this.#program, 'matrix'), false, matrix)
    const strength = gl.getUniformLocation(this.#program, 'strength')
    // The more edges overlap, the fainter each one is, so that they do not hide what is below them.
    const faint = Math.min(0.4, Math.max(0.03, 8 / Math.sqrt(this.#all.count + 1))) / (this.#chosen.count > 0 ? 3 : 1)
    const { buffer, count } = this.#all
    const strong = 2 * Math.ceil(count / 2 / strongShare)
    const parts = [
      [buffer, strong, count, faint],
      [buffer, 0, strong, Math.min(0.6, faint * 3)],
      [this.#chosen.buffer, 0, this.#chosen.count, 0.85],
    ] as const
    for (const [edges, from, to, alpha] of parts) {
      gl.uniform1f(strength, alpha)
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, edges)
      if (to > from) gl.drawElements(gl.LINES, to - from, gl.UNSIGNED_INT, 4 * from)
    }
  }
}

const vertexShader = `#version 300 es
in vec2 position;
in vec4 colour;
uniform mat3 matrix;
uniform float strength;
out vec4 shade;
void main() {
  gl_Position = vec4((matrix * vec3(position, 1.0)).xy, 0.0, 1.0);
  float alpha = colour.a * strength;
  shade = vec4(colour.rgb * alpha, alpha);
}`

const fragmentShader = `#version 300 es
precision mediump float;
in vec4 shade;
out vec4 pixel;
void main() { pixel = shade; }`

function programOf(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram()
  for (const [type, source] of [
    [gl.VERTEX_SHADER, vertexShader],
    [gl.FRAGMENT_SHADER, fragmentShader],
  ] as const) {
    const shader = gl.createShader(type)!
    gl.shaderSource(shader, source)
    gl.compileShader(shader)
    gl.attachShader(program, shader)
  }
  gl.linkProgram(program)
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    throw new Error(`The edges cannot be drawn: ${gl.getProgramInfoLog(program)}`)
  }
  return program
}
