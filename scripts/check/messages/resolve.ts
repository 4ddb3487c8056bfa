// Follows an expression of the source back to the texts that it can have.
import ts from 'typescript5';
import { type FunctionNode, isFunctionNode, returnsOf } from './functions.ts';

/** Stands for a value in the middle of a text. */
export const HOLE = '\u0000';

/** More alternatives of one text than this are one value. */
const MAX_ALTERNATIVES = 120;

/** Members of objects whose texts may become messages. */
const TEXT_MEMBER = /^(reason|\w*[tT]ext|what|problem|detail|error|tooFew|tooMany|\w+Reason)$/;

const UNKNOWN: readonly string[] = [HOLE];

/** An expression around another one, which has the same texts. */
const isWrapper = (node: ts.Expression) =>
  ts.isParenthesizedExpression(node) ||
  ts.isAsExpression(node) ||
  ts.isSatisfiesExpression(node) ||
  ts.isNonNullExpression(node) ||
  ts.isAwaitExpression(node);

/** Finds the texts of expressions, across all files of a program. */
export class TextResolver {
  readonly #checker: ts.TypeChecker;
  /** The calls of each function. */
  readonly #calls = new Map<ts.Node, (ts.CallExpression | ts.NewExpression)[]>();
  /** What is assigned to each property. */
  readonly #assigned = new Map<ts.Node, ts.Expression[]>();
  readonly #open = new Set<ts.Node>();
  /** The arguments of the calls that are being followed, innermost last. */
  readonly #frames: ReadonlyMap<ts.Node, ts.Expression | undefined>[] = [];

  constructor(program: ts.Program, files: readonly ts.SourceFile[]) {
    this.#checker = program.getTypeChecker();
    for (const file of files) this.#index(file);
  }

  #index(node: ts.Node): void {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const callee = this.functionOf(node);
      if (callee) this.#calls.set(callee, [...(this.#calls.get(callee) ?? []), node]);
    }
    if (
      ts.isBinaryExpression(node) &&
      node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
      (ts.isPropertyAccessExpression(node.left) || ts.isIdentifier(node.left))
    ) {
      const property = this.#declarationOf(ts.isIdentifier(node.left) ? node.left : node.left.name);
      if (property) this.#assigned.set(property, [...(this.#assigned.get(property) ?? []), node.right]);
    }
    if (
      (ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)) &&
      TEXT_MEMBER.test(node.name.getText())
    ) {
      const value = ts.isPropertyAssignment(node) ? node.initializer : node.name;
      const declared =
        this.#checker.getContextualType(node.parent)?.getProperty(node.name.getText())?.declarations ?? [];
      for (const one of declared) this.#assigned.set(one, [...(this.#assigned.get(one) ?? []), value]);
    }
    node.forEachChild((child) => this.#index(child));
  }

  /** Returns the objects, written in place, that an expression can be. */
  objectsOf(node: ts.Expression): readonly ts.ObjectLiteralExpression[] {
    if (ts.isObjectLiteralExpression(node)) return [node];
    if (ts.isIdentifier(node)) {
      const declared = this.#declarationOf(node);
      return declared && ts.isVariableDeclaration(declared) && declared.initializer
        ? this.objectsOf(declared.initializer)
        : [];
    }
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return this.objectsOf(node.expression);
    if (ts.isConditionalExpression(node)) return [...this.objectsOf(node.whenTrue), ...this.objectsOf(node.whenFalse)];
    const callee = ts.isCallExpression(node) ? this.functionOf(node) : undefined;
    return callee === undefined ? [] : returnsOf(callee).flatMap((one) => this.objectsOf(one));
  }

  #declarationOf(name: ts.Node): ts.Declaration | undefined {
    let symbol = ts.isShorthandPropertyAssignment(name.parent)
      ? this.#checker.getShorthandAssignmentValueSymbol(name.parent)
      : this.#checker.getSymbolAtLocation(name);
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = this.#checker.getAliasedSymbol(symbol);
    return symbol?.valueDeclaration ?? symbol?.declarations?.[0];
  }

  /** Returns the function that an expression calls; undefined if its source is not known. */
  functionOf(call: ts.CallExpression | ts.NewExpression): FunctionNode | undefined {
    const declared = this.#checker.getResolvedSignature(call)?.getDeclaration() as ts.Node | undefined;
    return isFunctionNode(declared) ? declared : undefined;
  }

  /** Returns all texts that an expression can have, each with `HOLE` in the place of values. */
  resolve(node: ts.Expression): readonly string[] {
    if (this.#open.has(node)) return [];
    this.#open.add(node);
    try {
      return [...new Set(this.#resolve(node))];
    } finally {
      this.#open.delete(node);
    }
  }

  #resolve(node: ts.Expression): readonly string[] {
    if (ts.isStringLiteralLike(node)) return [node.text];
    if (ts.isTemplateExpression(node)) {
      const spans = node.templateSpans.map(({ expression, literal }) =>
        this.#join(this.resolve(expression), [literal.text]),
      );
      return [[node.head.text], ...spans].reduce((left, right) => this.#join(left, right));
    }
    if (ts.isConditionalExpression(node)) return [...this.resolve(node.whenTrue), ...this.resolve(node.whenFalse)];
    if (ts.isBinaryExpression(node)) return this.#resolveBinary(node);
    if (isWrapper(node)) return this.resolve(node.expression);
    if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) return this.#resolveAll(returnsOf(node));
    if (ts.isCallExpression(node)) {
      const callee = this.functionOf(node);
      return callee === undefined ? UNKNOWN : this.#inCall(node, callee, () => this.#resolveAll(returnsOf(callee)));
    }
    if (ts.isIdentifier(node)) return node.text === 'undefined' ? [] : this.#resolveDeclaration(node, node);
    if (ts.isPropertyAccessExpression(node)) return this.#resolveDeclaration(node.name, node);
    if (ts.isElementAccessExpression(node)) return this.valuesOf(node.expression);
    if (node.kind === ts.SyntaxKind.NullKeyword) return [];
    return this.#resolveType(node);
  }

  #resolveAll(nodes: readonly ts.Expression[]): readonly string[] {
    return nodes.length === 0 ? UNKNOWN : nodes.flatMap((one) => this.resolve(one));
  }

  /** Runs work with the parameters of a function bound to the arguments of a call. */
  #inCall(call: ts.CallExpression, callee: FunctionNode, work: () => readonly string[]): readonly string[] {
    this.#frames.push(new Map(callee.parameters.map((one, i) => [one, call.arguments[i] ?? one.initializer])));
    try {
      return work();
    } finally {
      this.#frames.pop();
    }
  }

  #resolveBinary({ left, right, operatorToken }: ts.BinaryExpression): readonly string[] {
    switch (operatorToken.kind) {
      case ts.SyntaxKind.PlusToken:
        return this.#join(this.resolve(left), this.resolve(right));
      case ts.SyntaxKind.AmpersandAmpersandToken:
        return this.resolve(right);
      case ts.SyntaxKind.BarBarToken:
        return [...this.resolve(left).filter((text) => text !== ''), ...this.resolve(right)];
      case ts.SyntaxKind.QuestionQuestionToken:
        return [...this.resolve(left), ...this.resolve(right)];
      default:
        return UNKNOWN;
    }
  }

  /** Returns all texts that the members of an object can have. */
  valuesOf(node: ts.Expression): readonly string[] {
    if (this.#open.has(node)) return [];
    this.#open.add(node);
    try {
      return [...new Set(this.#valuesOf(node))];
    } finally {
      this.#open.delete(node);
    }
  }

  #valuesOf(node: ts.Expression): readonly string[] {
    if (ts.isObjectLiteralExpression(node))
      return node.properties.flatMap((one) => {
        if (ts.isPropertyAssignment(one)) return this.resolve(one.initializer);
        if (ts.isShorthandPropertyAssignment(one)) return this.resolve(one.name);
        return ts.isSpreadAssignment(one) ? this.valuesOf(one.expression) : [];
      });
    if (ts.isConditionalExpression(node)) return [...this.valuesOf(node.whenTrue), ...this.valuesOf(node.whenFalse)];
    if (ts.isBinaryExpression(node)) return [...this.valuesOf(node.left), ...this.valuesOf(node.right)];
    if (isWrapper(node)) return this.valuesOf(node.expression);
    if (ts.isIdentifier(node) || ts.isPropertyAccessExpression(node)) {
      const declared = this.#declarationOf(ts.isIdentifier(node) ? node : node.name);
      return declared &&
        (ts.isVariableDeclaration(declared) || ts.isPropertyAssignment(declared)) &&
        declared.initializer
        ? this.valuesOf(declared.initializer)
        : UNKNOWN;
    }
    if (!ts.isCallExpression(node)) return UNKNOWN;
    if (node.expression.getText() === 'Object.fromEntries') return this.#entriesIn(node.arguments[0]);
    const callee = this.functionOf(node);
    if (callee === undefined) return UNKNOWN;
    return this.#inCall(node, callee, () => returnsOf(callee).flatMap((one) => this.valuesOf(one)));
  }

  /** The second members of the pairs that an expression creates. */
  #entriesIn(node: ts.Node | undefined): readonly string[] {
    if (node === undefined) return [];
    if (ts.isArrayLiteralExpression(node) && node.elements.length === 2) return this.resolve(node.elements[1]!);
    const found: string[] = [];
    node.forEachChild((child) => {
      found.push(...this.#entriesIn(child));
    });
    return found;
  }

  /** Returns the value of a member of an object. */
  #resolveMember(node: ts.Expression, name: string): readonly string[] {
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node))
      return this.#resolveMember(node.expression, name);
    const members = ts.isObjectLiteralExpression(node) ? node.properties : [];
    const direct = members.find((one) => one.name?.getText() === name);
    if (direct && ts.isPropertyAssignment(direct)) return this.resolve(direct.initializer);
    if (direct && ts.isShorthandPropertyAssignment(direct)) return this.resolve(direct.name);
    const declared = this.#checker.getTypeAtLocation(node).getProperty(name)?.declarations ?? [];
    const found = declared.flatMap((one) =>
      ts.isPropertyAssignment(one)
        ? this.resolve(one.initializer)
        : (this.#assigned.get(one) ?? []).flatMap((value) => this.resolve(value)),
    );
    return found.length === 0 ? UNKNOWN : found;
  }

  #resolveBinding(element: ts.BindingElement, node: ts.Expression): readonly string[] {
    const pattern = element.parent;
    const name = (element.propertyName ?? element.name).getText();
    const byDefault = element.initializer ? this.resolve(element.initializer) : [];
    const holder = pattern.parent;
    if (!ts.isObjectBindingPattern(pattern)) return this.#resolveType(node);
    if (ts.isVariableDeclaration(holder) && holder.initializer)
      return [...this.#resolveMember(holder.initializer, name), ...byDefault];
    if (!ts.isParameter(holder)) return this.#resolveType(node);
    const owner = holder.parent as FunctionNode;
    const place = owner.parameters.indexOf(holder);
    const values = (this.#calls.get(owner) ?? []).flatMap((call) => call.arguments?.[place] ?? []);
    if (holder.initializer) values.push(holder.initializer);
    const type = this.#checker.getTypeAtLocation(holder).getProperty(name)?.declarations ?? [];
    const assigned = type.flatMap((one) => this.#assigned.get(one) ?? []).flatMap((value) => this.resolve(value));
    return [
      ...values.flatMap((value) => this.#resolveMember(value, name)),
      ...assigned,
      ...byDefault,
      ...(values.length + assigned.length === 0 ? this.#resolveType(node) : []),
    ];
  }

  #resolveDeclaration(name: ts.Node, node: ts.Expression): readonly string[] {
    const declared = this.#declarationOf(name);
    if (declared === undefined) return UNKNOWN;
    if (ts.isBindingElement(declared)) return this.#resolveBinding(declared, node);
    if (ts.isVariableDeclaration(declared) && declared.initializer && ts.isIdentifier(declared.name))
      return [declared.initializer, ...(this.#assigned.get(declared) ?? [])].flatMap((one) => this.resolve(one));
    if (ts.isPropertyAssignment(declared)) return this.resolve(declared.initializer);
    if (ts.isParameter(declared)) return this.#resolveParameter(declared, node);
    const assigned = this.#assigned.get(declared);
    return assigned === undefined ? this.#resolveType(node) : this.#resolveAll(assigned);
  }

  #resolveParameter(parameter: ts.ParameterDeclaration, node: ts.Expression): readonly string[] {
    const owner = parameter.parent as FunctionNode;
    const frame = this.#frames.at(-1);
    if (frame?.has(parameter) && ts.isIdentifier(parameter.name)) {
      const argument = frame.get(parameter);
      this.#frames.pop();
      try {
        return argument === undefined ? [] : this.resolve(argument);
      } finally {
        this.#frames.push(frame);
      }
    }
    if (!ts.isIdentifier(parameter.name) || parameter.dotDotDotToken) return this.#resolveType(node);
    const calls = this.#calls.get(owner) ?? [];
    if (calls.length === 0)
      return [...(parameter.initializer ? this.resolve(parameter.initializer) : []), ...this.#resolveType(node)];
    const place = owner.parameters.indexOf(parameter);
    const values = calls.map((call) => call.arguments?.[place] ?? parameter.initializer);
    return values.flatMap((value) => (value === undefined ? [] : this.resolve(value)));
  }

  /** The texts of a type such as `'create' | 'update'`. */
  #resolveType(node: ts.Expression): readonly string[] {
    const type = this.#checker.getTypeAtLocation(node);
    const parts = type.isUnion() ? type.types : [type];
    const texts = parts.filter((part) => !(part.flags & ts.TypeFlags.Undefined));
    return texts.length > 0 && texts.every((part) => part.isStringLiteral())
      ? texts.map((part) => (part as ts.StringLiteralType).value)
      : UNKNOWN;
  }

  /** Appends texts to texts. Alternatives that cannot all be listed are one value. */
  #join(left: readonly string[], right: readonly string[]): readonly string[] {
    if (left.length * right.length > MAX_ALTERNATIVES)
      return this.#join(left.length > right.length ? UNKNOWN : left, left.length > right.length ? right : UNKNOWN);
    return left.flatMap((before) => right.map((after) => (before + after).replaceAll(HOLE + HOLE, HOLE)));
  }
}
