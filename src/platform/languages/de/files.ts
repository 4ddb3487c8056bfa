import type { Translations } from '../catalogue.ts';

/** Files and uploads. */
export const fileMessages: Translations = {
  'Must be the id of a file that you have uploaded for this field':
    'Muss die ID einer Datei sein, die Sie für dieses Feld hochgeladen haben',
  'Must be an upload that no other record uses': 'Muss ein Upload sein, den kein anderer Datensatz verwendet',
  'Must be {types:list}, not {type}': 'Muss {types} sein, nicht {type}',
  'Must be a text in UTF-8': 'Muss ein Text in UTF-8 sein',
  'A file of {field} must be at most {max:number} bytes; this one has {bytes:number}':
    'Eine Datei von {field} darf höchstens {max} Bytes haben; diese hat {bytes}',
  'A file of {field} must be at most {max:number} bytes; this one has more':
    'Eine Datei von {field} darf höchstens {max} Bytes haben; diese hat mehr',

  // Uploads.
  'Must be <resource>.<field>': 'Muss <Ressource>.<Feld> sein',
  'Must be a SHA-256 in hex': 'Muss ein SHA-256 in Hexadezimalziffern sein',
  'Must be a media type': 'Muss ein Medientyp sein',
  'The file has {bytes:number} bytes instead of {expected:number}': 'Die Datei hat {bytes} statt {expected} Bytes',
  'The file has not been uploaded yet': 'Die Datei ist noch nicht hochgeladen',
  'The storage of this app does not accept direct uploads; send the file here':
    'Der Speicher dieser App nimmt keine direkten Uploads an; senden Sie die Datei hierher',
  'Another request continues this upload': 'Eine andere Anfrage setzt diesen Upload fort',
  'Other requests complete this upload; try again in a moment':
    'Andere Anfragen schließen diesen Upload gerade ab; versuchen Sie es gleich erneut',
  'The Content-Type must be application/offset+octet-stream':
    'Der Content-Type muss application/offset+octet-stream sein',
  'The upload continues at {bytes:number} bytes': 'Der Upload geht bei {bytes} Bytes weiter',
  'The upload has {bytes:number} bytes instead of {expected:number}; upload the file again':
    'Der Upload hat {bytes} statt {expected} Bytes; laden Sie die Datei erneut hoch',
  'This upload has expired or was cancelled': 'Dieser Upload ist abgelaufen oder wurde abgebrochen',
  'You have too many uploads that no record uses yet: at most {max} files with {bytes} bytes. Use them, or wait until they expire':
    'Sie haben zu viele Uploads, die noch kein Datensatz verwendet: höchstens {max} Dateien mit {bytes} Bytes. Verwenden Sie sie, oder warten Sie, bis sie ablaufen',
  'Unknown part "{name}"; send only the file': 'Unbekannter Teil „{name}“; senden Sie nur die Datei',
  'field must name a field that holds files, such as field=ticket.attachment':
    'field muss ein Feld nennen, das Dateien enthält, etwa field=ticket.attachment',
  "Content-Disposition must look like attachment; filename*=UTF-8''report.pdf":
    "Content-Disposition muss aussehen wie attachment; filename*=UTF-8''report.pdf",
  'Send the header Tus-Resumable: 1.0.0': 'Senden Sie den Header Tus-Resumable: 1.0.0',
  'Upload-Defer-Length is not supported; send Upload-Length':
    'Upload-Defer-Length wird nicht unterstützt; senden Sie Upload-Length',
  'Upload-Metadata has a value for "{key}" that is not base64 with padding':
    'Upload-Metadata hat für „{key}“ einen Wert, der nicht base64 mit Füllzeichen ist',
  'Upload-Metadata has the key "{key}" more than once': 'Upload-Metadata hat den Schlüssel „{key}“ mehrfach',
  'Upload-Metadata must be at most {max:number} characters': 'Upload-Metadata darf höchstens {max} Zeichen haben',
  'Upload-Metadata must be pairs of a key and a base64 value, separated by commas: filename cGxhbi5wZGY=':
    'Upload-Metadata muss aus Paaren von Schlüssel und base64-Wert bestehen, durch Kommas getrennt: filename cGxhbi5wZGY=',
  '{header} must be a number of bytes': '{header} muss eine Zahl von Bytes sein',

  // Images.
  'HEIC images cannot be resized': 'HEIC-Bilder lassen sich nicht skalieren',
  'A header of the image is too long': 'Ein Header des Bildes ist zu lang',
  'The colour profile of the image is too large': 'Das Farbprofil des Bildes ist zu groß',
  'The metadata of the image is too large': 'Die Metadaten des Bildes sind zu groß',
  'The image is incomplete': 'Das Bild ist unvollständig',
  'The image is malformed': 'Das Bild ist fehlerhaft',
  'The image cannot be decoded': 'Das Bild lässt sich nicht dekodieren',
  'The image has no pixels': 'Das Bild hat keine Pixel',
  'The image must be a PNG, JPEG, GIF, WebP, AVIF or HEIC file':
    'Das Bild muss eine PNG-, JPEG-, GIF-, WebP-, AVIF- oder HEIC-Datei sein',
  'The image must have at most {max:number} bytes': 'Das Bild darf höchstens {max} Bytes haben',
  'The image must have at most {max:number} frames': 'Das Bild darf höchstens {max} Einzelbilder haben',
  'The image must have at most {max:number} pixels; it has {width:number} × {height:number}':
    'Das Bild darf höchstens {max} Pixel haben; es hat {width} × {height}',
  'The {format} file is malformed': 'Die {format}-Datei ist fehlerhaft',
  'The {format} file has no header': 'Die {format}-Datei hat keinen Header',
  'The {format} file has no frame header': 'Die {format}-Datei hat keinen Frame-Header',
  'The {format} file has no frame': 'Die {format}-Datei hat kein Einzelbild',
  'The {format} file has no pixels': 'Die {format}-Datei hat keine Pixel',
  'The {format} file has too many chunks': 'Die {format}-Datei hat zu viele Chunks',
  'Too many images are being processed; try again later':
    'Es werden gerade zu viele Bilder verarbeitet; versuchen Sie es später erneut',
};
