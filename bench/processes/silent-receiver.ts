// A receiver that accepts requests and never responds.
import { listening, ready } from './child.ts';

let requests = 0;
const url = await listening((req) => {
  requests += 1;
  req.resume();
});

ready(url, {
  /** The number of requests. */
  requests: () => requests,
});
