/** Whoever reads the end stays there while rows come in and grow; whoever reads elsewhere is left alone. */
import type { Virtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

/** The design's rule: this close to the end counts as the end. */
export const NEAR_END = 48;

export interface Place {
  top: number;
  height: number;
  room: number;
}

/** Whether the reader is at the end now, given where they were. `byHand`: a wheel, a finger or a key moved the thread. */
export function staysAtEnd(was: boolean, before: Place, now: Place, byHand: boolean): boolean {
  if (now.height - now.top - now.room < NEAR_END) return true;
  // Rows that shrink and grow again also pull the thread up; only a move in a thread that kept its size is the reader's.
  const moved = now.top < before.top && (byHand || now.height === before.height);
  return was && !moved;
}

/** When to shift the thread by what a row grew: only for rows above a reader who is not at the end. */
function growsAbove(virtual: Virtualizer<HTMLDivElement, Element>, item: { key: unknown; start: number; end: number }): boolean {
  const top = virtual.scrollOffset ?? 0;
  const known = virtual.itemSizeCache.has(item.key as number);
  return known ? item.end <= top && virtual.scrollDirection !== "backward" : item.start < top;
}

interface Options {
  scroller: RefObject<HTMLDivElement | null>;
  virtual: Virtualizer<HTMLDivElement, Element>;
  rows: number;
  /** A message was just sent: its sender wants to see it. */
  sent: boolean;
}

export function useStickToEnd({ scroller, virtual, rows, sent }: Options) {
  const atEnd = useRef(true);
  const byHand = useRef(false);
  const before = useRef<Place>({ top: 0, height: 0, room: 0 });
  const [away, setAway] = useState(false);
  const size = virtual.getTotalSize();

  const pin = useCallback(() => {
    const element = scroller.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [scroller]);

  // The virtualizer would shift by its own last offset, which is older than where `pin` just went.
  virtual.shouldAdjustScrollPositionOnItemSizeChange = (item) => !atEnd.current && growsAbove(virtual, item);

  useLayoutEffect(pin, [size, rows, pin]);

  const goToEnd = useCallback(() => {
    atEnd.current = true;
    byHand.current = false;
    setAway(false);
    pin();
  }, [pin]);
  useLayoutEffect(() => {
    if (sent) goToEnd();
  }, [sent, goToEnd]);

  // The status row and the composer change the room; the end stays in view.
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const watcher = new ResizeObserver(pin);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [scroller, pin]);

  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    const now = { top: element.scrollTop, height: element.scrollHeight, room: element.clientHeight };
    atEnd.current = staysAtEnd(atEnd.current, before.current, now, byHand.current);
    if (atEnd.current) byHand.current = false;
    before.current = now;
    setAway(!atEnd.current);
    if (now.height - now.top - now.room >= NEAR_END) pin();
  };
  const hand = () => {
    byHand.current = true;
  };
  const leaveEnd = useCallback(() => {
    atEnd.current = false;
    setAway(true);
  }, []);
  return { away, goToEnd, leaveEnd, onScroll, byHand: { onWheel: hand, onTouchMove: hand, onPointerDown: hand, onKeyDownCapture: hand } };
}
