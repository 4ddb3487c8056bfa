// A receiver that accepts requests and never responds.
import { reportReady, startHttpServer } from './child.ts';

let requests = 0;
const url = await startHttpServer((req) => {
  requests += 1;
  req.resume();
});

reportReady(url, {
  /** The number of requests. */
  requests: () => requests,
});
