/** ms without a word from the server, which says every 15 s that it is there. */
const SILENCE_MS = 40_000;
const AGAIN_MS = 1000;

/**
 * Follows the state of the server, over restarts of it and breaks of the line.
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
  // By itself a browser asks again after a break, and never after an answer that is no stream.
  stream.addEventListener('error', again);
}
