import type { Translations } from '../catalogue.ts';

/** Queries of lists and aggregates. */
export const queryMessages: Translations = {
  'The query parameter "{name}" contains characters that are not allowed':
    'Der Query-Parameter „{name}“ enthält Zeichen, die nicht erlaubt sind',
  'The query parameter "{name}" has a value of the wrong type':
    'Der Query-Parameter „{name}“ hat einen Wert vom falschen Typ',
  'The query parameter "{name}" is only for lists': 'Der Query-Parameter „{name}“ ist nur für Listen',
  'The query parameter "{name}" must be true or false': 'Der Query-Parameter „{name}“ muss true oder false sein',
  'The query parameter "{name}" must be a whole number from 1 to {max:number}':
    'Der Query-Parameter „{name}“ muss eine ganze Zahl von 1 bis {max} sein',
  'The query parameter "{name}" needs at least one value': 'Der Query-Parameter „{name}“ braucht mindestens einen Wert',
  'The query parameter "{name}" needs field names, joined by commas':
    'Der Query-Parameter „{name}“ braucht Feldnamen, durch Kommas getrennt',
  'The query parameter "{name}" names "{field}" twice': 'Der Query-Parameter „{name}“ nennt „{field}“ doppelt',
  'The query parameter "{name}" names a field twice': 'Der Query-Parameter „{name}“ nennt ein Feld doppelt',
  'The query parameter "{name}" names a term twice': 'Der Query-Parameter „{name}“ nennt einen Begriff doppelt',
  'The query parameter "{name}" takes at most {max:number} values':
    'Der Query-Parameter „{name}“ nimmt höchstens {max} Werte',
  'The query parameter "{name}" takes at most {max:number} fields':
    'Der Query-Parameter „{name}“ nimmt höchstens {max} Felder',
  'The query parameter "{name}" takes at most {max:number} paths':
    'Der Query-Parameter „{name}“ nimmt höchstens {max} Pfade',
  'The query parameter "{name}" takes at most {max:number} characters':
    'Der Query-Parameter „{name}“ nimmt höchstens {max} Zeichen',
  'The query parameter "after" must be the "meta.next" of a list of this resource with the same "sort"':
    'Der Query-Parameter „after“ muss das „meta.next“ einer Liste dieser Ressource mit demselben „sort“ sein',
  'The query parameter "after" refers to a {resource} that no longer exists; start again from the first page':
    'Der Query-Parameter „after“ verweist auf einen Datensatz von {resource}, den es nicht mehr gibt; beginnen Sie wieder bei der ersten Seite',
  'The query parameters "after" and "page" cannot be combined':
    'Die Query-Parameter „after“ und „page“ lassen sich nicht kombinieren',
  'The query parameter "count" can only be "exact", "capped" or "none"':
    'Der Query-Parameter „count“ kann nur „exact“, „capped“ oder „none“ sein',
  'The query parameter "count" takes no value: it adds the number of records to each group':
    'Der Query-Parameter „count“ nimmt keinen Wert: Er ergänzt jede Gruppe um die Zahl ihrer Datensätze',
  'The query parameter "deleted" can only be "only" or "with"':
    'Der Query-Parameter „deleted“ kann nur „only“ oder „with“ sein',
  'The query parameter "timeZone" must be an IANA time zone, such as Europe/Berlin, or UTC':
    'Der Query-Parameter „timeZone“ muss eine IANA-Zeitzone sein, etwa Europe/Berlin, oder UTC',
  'Unknown query parameter "{name}"; allowed here: {names}':
    'Unbekannter Query-Parameter „{name}“; hier erlaubt: {names}',
  'Unknown query parameter "{name}"; filterable fields: {fields:list}':
    'Unbekannter Query-Parameter „{name}“; filterbare Felder: {fields}',
  'Unknown query parameter "{name}"; filterable fields: {fields:list}; relations, as in {example}[exists]: {relations:list}':
    'Unbekannter Query-Parameter „{name}“; filterbare Felder: {fields}; Beziehungen wie in {example}[exists]: {relations}',
  'Unknown query parameter "{name}"; filterable fields of "{path}": {fields:list}':
    'Unbekannter Query-Parameter „{name}“; filterbare Felder von „{path}“: {fields}',
  'Unknown query parameter "{name}"; filterable fields of "{path}": {fields:list}; relations, as in {example}[exists]: {relations:list}':
    'Unbekannter Query-Parameter „{name}“; filterbare Felder von „{path}“: {fields}; Beziehungen wie in {example}[exists]: {relations}',
  'Unknown query parameter "q"; this resource is not searchable':
    'Unbekannter Query-Parameter „q“; diese Ressource lässt sich nicht durchsuchen',

  // Filters.
  'The field "{field}" cannot be filtered with "{operator}"; its operators: {operators:list}':
    'Das Feld „{field}“ lässt sich nicht mit „{operator}“ filtern; seine Operatoren: {operators}',
  'The filter "{name}" has a value of the wrong type': 'Der Filter „{name}“ hat einen Wert vom falschen Typ',
  'The filter "{name}" needs an operator, such as { gte: 3 }':
    'Der Filter „{name}“ braucht einen Operator, etwa { gte: 3 }',
  'The filter "{name}" takes at most {max:number} values': 'Der Filter „{name}“ nimmt höchstens {max} Werte',
  'The filter "{name}" follows more than {max:number} relations':
    'Der Filter „{name}“ folgt mehr als {max} Beziehungen',
  'The filters follow more than {max:number} relations': 'Die Filter folgen mehr als {max} Beziehungen',
  'The operator "{operator}" of the filter "{name}" takes a list':
    'Der Operator „{operator}“ des Filters „{name}“ nimmt eine Liste',
  'The operator "exists" of the filter "{name}" takes true or false':
    'Der Operator „exists“ des Filters „{name}“ nimmt true oder false',
  'Unknown field "{field}" in a filter; filterable fields: {fields:list}':
    'Unbekanntes Feld „{field}“ in einem Filter; filterbare Felder: {fields}',
  'You may not see "{name}", so a filter cannot use it':
    'Sie dürfen „{name}“ nicht sehen, darum kann ein Filter es nicht verwenden',
  'Unknown field "{name}"; fields: {fields:list}': 'Unbekanntes Feld „{name}“; Felder: {fields}',
  'Unknown filter "{name}"': 'Unbekannter Filter „{name}“',

  // Orders and included records.
  'Cannot sort by "{name}"; sortable fields: {fields:list}':
    'Nach „{name}“ lässt sich nicht sortieren; sortierbare Felder: {fields}',
  'Cannot sort by "{name}"; sortable fields of "{path}": {fields:list}':
    'Nach „{name}“ lässt sich nicht sortieren; sortierbare Felder von „{path}“: {fields}',
  'Cannot sort by "{name}"; references of "{path}" to sort by: {fields:list}':
    'Nach „{name}“ lässt sich nicht sortieren; Referenzen von „{path}“ zum Sortieren: {fields}',
  'Cannot sort by "{name}"; a path has at most {max:number} references':
    'Nach „{name}“ lässt sich nicht sortieren; ein Pfad hat höchstens {max} Referenzen',
  'Cannot select the field "{name}"; selectable fields: {fields:list}':
    'Das Feld „{name}“ lässt sich nicht auswählen; auswählbare Felder: {fields}',
  'Cannot include "{name}"; a path has at most {max:number} references':
    '„{name}“ lässt sich nicht einschließen; ein Pfad hat höchstens {max} Referenzen',
  'Cannot include "{name}"; references: {fields:list}': '„{name}“ lässt sich nicht einschließen; Referenzen: {fields}',
  'Cannot include "{name}"; references and relations: {fields:list}':
    '„{name}“ lässt sich nicht einschließen; Referenzen und Beziehungen: {fields}',
  'Cannot include "{name}"; references of "{path}" that can be included: {fields:list}':
    '„{name}“ lässt sich nicht einschließen; Referenzen von „{path}“, die sich einschließen lassen: {fields}',
  'Cannot include "{name}"; references and relations of "{path}" that can be included: {fields:list}':
    '„{name}“ lässt sich nicht einschließen; Referenzen und Beziehungen von „{path}“, die sich einschließen lassen: {fields}',

  // Aggregates.
  'A query takes at most {max:number} aggregates': 'Eine Abfrage nimmt höchstens {max} Aggregate',
  'A sum or an average is too large for a number; add a filter':
    'Eine Summe oder ein Durchschnitt ist zu groß für eine Zahl; fügen Sie einen Filter hinzu',
  'Cannot compute "{function}" of "{name}"; fields: {fields:list}':
    '„{function}“ von „{name}“ lässt sich nicht berechnen; Felder: {fields}',
  'Cannot group by "{name}"; groups: {groups:list}': 'Nach „{name}“ lässt sich nicht gruppieren; Gruppen: {groups}',
  'Cannot group by the date "{name}" itself; group by one of: {units}, as in month({field})':
    'Nach dem Datum „{name}“ selbst lässt sich nicht gruppieren; gruppieren Sie nach einem von: {units}, wie in month({field})',
  'Cannot group dates by "{name}"; units: {units}':
    'Daten lassen sich nicht nach „{name}“ gruppieren; Einheiten: {units}',
  'Cannot sort groups by "{name}"; requested here: {names:list}':
    'Gruppen lassen sich nicht nach „{name}“ sortieren; hier angefordert: {names}',
  'Unknown parameter "{name}" of aggregates; filters belong in "where"':
    'Unbekannter Parameter „{name}“ von Aggregaten; Filter gehören in „where“',
  '"{name}" takes a list of fields': '„{name}“ nimmt eine Liste von Feldern',
  '"{name}" has a term that is not a field': '„{name}“ hat einen Begriff, der kein Feld ist',
  '"{name}" has a term that is not a field or a bucket: { month: \'createdAt\' }':
    "„{name}“ hat einen Begriff, der weder ein Feld noch ein Zeitraum ist: { month: 'createdAt' }",
  'each() reads every record of a list; leave out "{name}"':
    'each() liest jeden Datensatz einer Liste; lassen Sie „{name}“ weg',

  // Slow queries.
  'These aggregates take too long to compute; add a filter, or group by fewer fields':
    'Diese Aggregate zu berechnen dauert zu lange; fügen Sie einen Filter hinzu, oder gruppieren Sie nach weniger Feldern',
  'This list takes too long to read; {advice:texts}': 'Diese Liste zu lesen dauert zu lange; Abhilfe: {advice}',
  'add a filter': 'einen Filter hinzufügen',
  'search for a longer text (three letters or more)': 'nach einem längeren Text suchen (drei Buchstaben oder mehr)',
  'continue with "after" instead of a high "page"': 'mit „after“ fortfahren statt mit einer hohen „page“',
  'sort by {fields}': 'sortieren nach {fields}',
  'limit the total with count=capped or count=none': 'die Gesamtzahl mit count=capped oder count=none begrenzen',
  'A {resource} was deleted while the list was read in an order that depends on it':
    'Ein Datensatz von {resource} wurde gelöscht, während die Liste in einer Reihenfolge gelesen wurde, die von ihm abhängt',
};
