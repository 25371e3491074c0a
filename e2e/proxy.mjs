// A TCP proxy that cuts connections in the middle, and counts bytes.
import { createServer, connect } from 'node:net';

/**
 * Stands in front of host:port. `cuts` is a list of byte counts: the first connection that gets so many bytes from the server is cut behind them, then the
 * next count holds, and so on; with the list used up it lets everything through. A cut is a reset in both directions; the bytes before it are delivered
 * in part, as on a real network.
 */
export async function startProxy(target, cuts = []) {
  const [host, port] = target.split(':');
  const stats = { connections: 0, cut: 0, down: 0, up: 0 };
  const left = [...cuts];
  const sockets = new Set();
  const server = createServer((client) => {
    stats.connections++;
    const upstream = connect(Number(port), host);
    let down = 0;
    const end = () => {
      for (const socket of [client, upstream]) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    const cut = () => {
      stats.cut++;
      for (const socket of [client, upstream]) {
        socket.resetAndDestroy();
        sockets.delete(socket);
      }
    };
    for (const [socket, other] of [[client, upstream], [upstream, client]]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        sockets.delete(socket);
        other.end(); // what it holds goes out first
      });
    }
    client.on('data', (chunk) => {
      stats.up += chunk.length;
      if (!upstream.write(chunk)) client.pause();
    });
    upstream.on('drain', () => client.resume());
    upstream.on('data', (chunk) => {
      stats.down += chunk.length;
      down += chunk.length;
      if (left.length > 0 && down > left[0]) {
        const keep = chunk.length - (down - left.shift());
        // The part in front of the cut goes out first, then the reset follows.
        client.write(chunk.subarray(0, Math.max(0, keep)), cut);
        upstream.pause();
        return;
      }
      if (!client.write(chunk)) upstream.pause();
    });
    client.on('drain', () => upstream.resume());
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = `127.0.0.1:${server.address().port}`;
  return {
    stats,
    http: `http://${address}/graphql`,
    ws: `ws://${address}/graphql`,
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(resolve);
      }),
  };
}
