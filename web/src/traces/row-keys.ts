/**
 * React keys for the rows of a list of which only a window exists. Rows that stay on the screen keep their key. When
 * most of the rows are new, as after a jump, the new ones take over the keys in order: the page then changes the text
 * of rows that exist and builds none. Returns what to add to an index; the same window gives the same answer.
 */
export function rowKeys(): (first: number, last: number) => number {
  let before = { first: 0, last: -1 };
  let shift = 0;
  return (first, last) => {
    const stay = Math.min(last, before.last) - Math.max(first, before.first) + 1;
    if (stay * 2 < last - first + 1) shift += before.first - first;
    before = { first, last };
    return shift;
  };
}
