// Receives a body, parses it and refuses it: the minimum work of any server that reads JSON.
import { listening, ready } from '../processes/child.ts';

const url = await listening((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString());
    res.statusCode = 422;
    res.end('{}');
  });
});
ready(url);
