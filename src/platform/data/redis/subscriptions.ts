import type { Cluster, Redis } from 'ioredis';

/** A subscription to a channel. */
interface Subscription {
  /** Resolves when Redis delivers the channel's messages. Earlier ones are lost, as are those sent while Redis is not reachable. */
  started: Promise<void>;
  stop(): void;
}

/** Calls `listener` with each message of a channel. */
export type Subscribe = (channel: string, listener: (message: string) => void) => Subscription;

/** Creates the subscriptions of a process. They share one connection, which exists while there are any. */
export function createSubscriptions(openConnection: () => Redis | Cluster): Subscribe {
  const listeners = new Map<string, Set<(message: string) => void>>();
  let connection: Redis | Cluster | undefined;

  function getOrOpenConnection(): Redis | Cluster {
    if (connection !== undefined) return connection;
    connection = openConnection();
    connection.on('message', (channel: string, message: string) => {
      for (const listener of listeners.get(channel) ?? []) listener(message);
    });
    return connection;
  }

  return (channel, listener) => {
    const client = getOrOpenConnection();
    const ofChannel = listeners.get(channel) ?? new Set();
    listeners.set(channel, ofChannel);
    // Another function for each subscription, so that each can be stopped by itself.
    const own = (message: string) => listener(message);
    ofChannel.add(own);
    return {
      // A subscription that fails, because the connection is closed, gets no messages: they are only hints.
      started: client.subscribe(channel).then(
        () => undefined,
        () => undefined,
      ),
      stop() {
        if (!ofChannel.delete(own) || ofChannel.size > 0) return;
        if (listeners.get(channel) === ofChannel) listeners.delete(channel);
        if (listeners.size > 0 || connection !== client) return;
        client.disconnect();
        connection = undefined;
      },
    };
  };
}
