// The newest of what comes in, bounded in number and in size; it knows how many were dropped.
export class Tail {
  items = [];
  dropped = 0;
  #sizes = [];
  #size = 0;
  #most;
  #room;

  // At most `most` items, of together at most `room` characters; the newest is kept in any case.
  constructor(most, room) {
    this.#most = most;
    this.#room = room;
  }

  get total() {
    return this.dropped + this.items.length;
  }

  push(item) {
    const size = (typeof item === 'string' ? item : JSON.stringify(item)).length;
    this.items.push(item);
    this.#sizes.push(size);
    this.#size += size;
    while (this.items.length > 1 && (this.items.length > this.#most || this.#size > this.#room)) {
      this.items.shift();
      this.#size -= this.#sizes.shift();
      this.dropped++;
    }
  }
}

// What is shown of a subscription: all its events so far, what was dropped of them, and how it failed.
export function stream(tail, errors) {
  return {
    ...(tail.dropped > 0 && { note: `The first ${tail.dropped} of ${tail.total} events are left out.` }),
    ...((tail.total > 0 || !errors) && { events: tail.items }),
    ...(errors && { errors }),
  };
}
