/** Reconnect after this many ms without a message. The server sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000;
const AGAIN_MS = 1000;

/**
 * Subscribes to the state of the server. Reconnects after restarts of the server and lost connections.
 *
 * @param {(state: any) => void} show
 * @param {(connected: boolean) => void} tell
 */
export function follow(show, tell) {
  let silence;
  const stream = new EventSource('/console/push/events');
  const again = () => {
    clearTimeout(silence);
    stream.close();
    tell(false);
    setTimeout(() => follow(show, tell), AGAIN_MS);
  };
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(again, SILENCE_MS);
    tell(true);
  };
  stream.addEventListener('open', heard);
  stream.addEventListener('beat', heard);
  stream.addEventListener('state', (event) => {
    heard();
    show(JSON.parse(event.data));
  });
  // A browser reconnects after a lost connection, but never after a response that is not an event stream.
  stream.addEventListener('error', again);
}
