import { correction, generate } from 'lean-qr';
import { toPngDataURL } from 'lean-qr/extras/node_export';

const PIXELS_PER_MODULE = 6;
// Left to itself it is transparent, and cannot be read on a dark page.
const WHITE = [255, 255, 255, 255] as const;

/** A text as a QR code: the data URL of a PNG, black on white with its quiet zone. */
export function qrCode(text: string): string {
  const code = generate(text, { minCorrectionLevel: correction.M });
  return toPngDataURL(code, { scale: PIXELS_PER_MODULE, off: WHITE });
}
