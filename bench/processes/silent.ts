// A receiver that takes requests and never answers.
import { listening, ready } from './child.ts';

let requests = 0;
const url = await listening((req) => {
  requests += 1;
  req.resume();
});

ready(url, {
  /** How many came. */
  requests: () => requests,
});
