import type { Translations } from '../catalogue.ts';

/** Changes of records, and imports. */
export const recordMessages: Translations = {
  // Conflicts.
  'Another record conflicts with these values': 'Ein anderer Datensatz steht mit diesen Werten in Konflikt',
  'These values are not allowed together': 'Diese Werte sind zusammen nicht erlaubt',
  'The record is being changed by other requests; try again':
    'Der Datensatz wird gerade von anderen Anfragen geändert; versuchen Sie es erneut',
  'The change conflicts with another record': 'Die Änderung steht mit einem anderen Datensatz in Konflikt',
  'The request breaks a rule for the stored values': 'Die Anfrage verletzt eine Regel der gespeicherten Werte',
  'The request contains a value that cannot be stored':
    'Die Anfrage enthält einen Wert, der sich nicht speichern lässt',
  'The request refers to a record that does not exist': 'Die Anfrage verweist auf einen Datensatz, den es nicht gibt',

  // References and restoring.
  'Other records refer to this record, so it cannot be changed or deleted':
    'Andere Datensätze verweisen auf diesen Datensatz, darum lässt er sich nicht ändern oder löschen',
  'Other records refer to this record, so it cannot be deleted':
    'Andere Datensätze verweisen auf diesen Datensatz, darum lässt er sich nicht löschen',
  'Records of {resource} refer to this record, so it cannot be deleted':
    'Datensätze von {resource} verweisen auf diesen Datensatz, darum lässt er sich nicht löschen',
  'More than {max} records refer to this record, directly or through others; delete or change those first':
    'Mehr als {max} Datensätze verweisen auf diesen Datensatz, direkt oder über andere; löschen oder ändern Sie zuerst diese',
  'More than {max} records were deleted with this record, so it cannot be restored':
    'Mit diesem Datensatz wurden mehr als {max} Datensätze gelöscht, darum lässt er sich nicht wiederherstellen',
  'Records that were deleted with this record cannot be restored: a unique value of theirs is taken, another constraint refuses them, a record to which they refer is missing, or a value is no longer valid':
    'Datensätze, die mit diesem Datensatz gelöscht wurden, lassen sich nicht wiederherstellen: Ein eindeutiger Wert ist vergeben, eine andere Bedingung lehnt sie ab, ein Datensatz, auf den sie verweisen, fehlt, oder ein Wert ist nicht mehr gültig',
  'The record no longer meets the rules, so it cannot be restored':
    'Der Datensatz erfüllt die Regeln nicht mehr, darum lässt er sich nicht wiederherstellen',
  'Restoring this record requires more than ownership, because it was not deleted by its owner':
    'Diesen Datensatz wiederherzustellen verlangt mehr, als ihn zu besitzen, denn nicht sein Besitzer hat ihn gelöscht',
  'Restoring this record requires the role {roles:list}, because it was not deleted by its owner':
    'Diesen Datensatz wiederherzustellen verlangt die Rolle {roles}, denn nicht sein Besitzer hat ihn gelöscht',

  // Batches.
  'Must be a list of operations': 'Muss eine Liste von Operationen sein',
  'Must be atomic or perItem': 'Muss atomic oder perItem sein',
  'Must have 1 to {max:number} operations, not {count:number}': 'Muss 1 bis {max} Operationen haben, nicht {count}',
  'Must be an object such as { "op": "create", "data": { … } }':
    'Muss ein Objekt sein, etwa { "op": "create", "data": { … } }',
  'Must be a unique field: {fields}': 'Muss ein eindeutiges Feld sein: {fields}',
  'Must be a unique field that you can see; this resource has none':
    'Muss ein eindeutiges Feld sein, das Sie sehen dürfen; diese Ressource hat keines',
  'Must be * or a list of entity tags in double quotes':
    'Muss * oder eine Liste von Entity-Tags in Anführungszeichen sein',
  'Must be the updatedAt of the record, or * or a list of entity tags in double quotes':
    'Muss das updatedAt des Datensatzes, * oder eine Liste von Entity-Tags in Anführungszeichen sein',
  'The records of this batch are too large together; change fewer at once':
    'Die Datensätze dieses Batches sind zusammen zu groß; ändern Sie weniger auf einmal',
  'This resource does not support the operation "{operation}"':
    'Diese Ressource unterstützt die Operation „{operation}“ nicht',

  // Import.
  'Must be an id of 24 hexadecimal characters': 'Muss eine ID aus 24 Hexadezimalziffern sein',
  'Must not be before createdAt': 'Darf nicht vor createdAt liegen',
  'Must be JSON, such as {example}': 'Muss JSON sein, etwa {example}',
  'Is not valid JSON': 'Ist kein gültiges JSON',
  'Has {count:number} cells, but the header has {expected:number}':
    'Hat {count} Zellen, aber die Kopfzeile hat {expected}',
  'Has a stray quote. Quotes must enclose a whole cell, and a quote inside it is written twice':
    'Hat ein einzelnes Anführungszeichen. Anführungszeichen müssen eine ganze Zelle umschließen; innerhalb stehen sie doppelt',
  'A line is longer than {max:number} characters.': 'Eine Zeile ist länger als {max} Zeichen.',
  'A row is longer than {max:number} characters.': 'Eine Zeile ist länger als {max} Zeichen.',
  'Line {line:number} is not UTF-8. Save the file as UTF-8, then import it again.':
    'Zeile {line} ist nicht UTF-8. Speichern Sie die Datei als UTF-8, und importieren Sie sie erneut.',
  'The file is UTF-16. Save it as UTF-8, then import it again.':
    'Die Datei ist UTF-16. Speichern Sie sie als UTF-8, und importieren Sie sie erneut.',
  'The file is empty. Its first line must name the columns.':
    'Die Datei ist leer. Ihre erste Zeile muss die Spalten nennen.',
  'The first line must name the columns. It {problem:text}.': 'Die erste Zeile muss die Spalten nennen. Sie {problem}.',
  'has a stray quote. Quotes must enclose a whole cell, and a quote inside it is written twice':
    'hat ein einzelnes Anführungszeichen. Anführungszeichen müssen eine ganze Zelle umschließen; innerhalb stehen sie doppelt',
  'The cells are separated by {delimiter:text}': 'Die Zellen sind durch {delimiter} getrennt',
  semicolons: 'Semikolons',
  commas: 'Kommas',
  tabs: 'Tabulatoren',
  'Two columns set "{field}". Rename one, or leave it out.':
    'Zwei Spalten setzen „{field}“. Benennen Sie eine um, oder lassen Sie sie weg.',
  'Two columns set "{field}". Rename one, or leave it out with {option}.':
    'Zwei Spalten setzen „{field}“. Benennen Sie eine um, oder lassen Sie sie mit {option} weg.',
  'The column "{column}" is not a field of {resource}. Did you mean "{field}"?{advice:text}':
    'Die Spalte „{column}“ ist kein Feld von {resource}. Meinten Sie „{field}“?{advice}',
  'The column "{column}" is not a field of {resource}; fields: {fields}':
    'Die Spalte „{column}“ ist kein Feld von {resource}; Felder: {fields}',
  'The column "{column}" is not a field of {resource}; fields: {fields} To leave it out, add {option} "{same}=".':
    'Die Spalte „{column}“ ist kein Feld von {resource}; Felder: {fields} Um sie wegzulassen, ergänzen Sie {option} "{same}=".',
  ' To leave it out, add {option} "{column}=".': ' Um sie wegzulassen, ergänzen Sie {option} "{column}=".',
};
