/** Reconnect after this many ms without a message. The server sends a heartbeat every 15 s. */
const SILENCE_MS = 40_000;
const RECONNECT_MS = 1000;

function showConnection(connected) {
  const status = document.getElementById('connection');
  status.textContent = connected ? 'Live' : 'No connection; trying again…';
  status.className = connected ? 'live' : 'lost';
}

/**
 * Subscribes to the state of the server, and shows whether the page is connected. Reconnects after restarts of the server and lost
 * connections.
 *
 * @param {string} path the path of the event stream
 * @param {(state: any) => void} onState
 */
export function subscribe(path, onState) {
  let silenceTimer;
  const stream = new EventSource(path);
  const reconnect = () => {
    clearTimeout(silenceTimer);
    stream.close();
    showConnection(false);
    setTimeout(() => subscribe(path, onState), RECONNECT_MS);
  };
  const restartSilenceTimer = () => {
    clearTimeout(silenceTimer);
    silenceTimer = setTimeout(reconnect, SILENCE_MS);
    showConnection(true);
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
