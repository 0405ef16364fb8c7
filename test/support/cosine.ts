/** A plain reference implementation, with which others are compared. */
export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [product, squaresA, squaresB] = [0, 0, 0]
  for (let i = 0; i < a.length; i++) {
    product += a[i]! * b[i]!
    squaresA += a[i]! * a[i]!
    squaresB += b[i]! * b[i]!
  }
  return product / Math.sqrt(squaresA * squaresB)
}
