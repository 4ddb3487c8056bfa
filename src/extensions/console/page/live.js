/** Reconnect after this many ms without a message. The server sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000;
const RECONNECT_MS = 1000;

/**
 * Subscribes to the state of the server. Reconnects after restarts of the server and lost connections.
 *
 * @param {(state: any) => void} onState
 * @param {(connected: boolean) => void} onConnection
 */
export function subscribe(onState, onConnection) {
  let silenceTimer;
  const stream = new EventSource('/console/push/events');
  const reconnect = () => {
    clearTimeout(silenceTimer);
    stream.close();
    onConnection(false);
    setTimeout(() => subscribe(onState, onConnection), RECONNECT_MS);
  };
  const restartSilenceTimer = () => {
    clearTimeout(silenceTimer);
    silenceTimer = setTimeout(reconnect, SILENCE_MS);
    onConnection(true);
  };
  stream.addEventListener('open', restartSilenceTimer);
  stream.addEventListener('beat', restartSilenceTimer);
  stream.addEventListener('state', (event) => {
    restartSilenceTimer();
    onState(JSON.parse(event.data));
  });
  // A browser reconnects after a lost connection, but never after a response that is not an event stream.
  stream.addEventListener('error', reconnect);
}
