package kinds

import "github.com/yuin/gopher-lua/ast"

const (
	// scriptJoinsMost: engines refuse scripts that join and compare in more places.
	scriptJoinsMost = 512
	// scriptNestingMost and scriptDepthMost together stay below the depth that engines can compile.
	scriptNestingMost = 150
	scriptDepthMost   = 600
	// scriptValuesMost: an engine has so many registers for a function, and needs some of them itself.
	scriptValuesMost = 240
	scriptLocalsMost = 200
)

// notOnEngines says in which line a script in Lua 5.1 has something that engines refuse; empty: nothing. Engines run
// Luau, which has more than Lua 5.1, lacks a few things, and has bounds of its own.
func notOnEngines(script string, chunk []ast.Stmt) string {
	tokens, refusal := scriptTokens(script)
	if refusal != "" {
		return refusal
	}
	if refusal := wrongToken(tokens); refusal != "" {
		return refusal
	}
	scope := &scriptScope{variadic: true}
	scope.block(chunk, 0)
	return scope.refusal
}

// wrongToken finds what only the tokens tell: the tree of a script has no brackets and no ends of lines.
func wrongToken(tokens []scriptToken) string {
	joins := 0
	walk := tokenWalk{}
	for _, token := range tokens {
		switch token.text {
		case "..", "<", ">", "<=", ">=":
			if token.kind == operatorToken {
				joins++
			}
		}
		if refusal := walk.step(token); refusal != "" {
			return refusal
		}
	}
	if joins > scriptJoinsMost {
		return inLine(1, "the script joins and compares in %d places: use at most %d", joins, scriptJoinsMost)
	}
	return ""
}

// tokenWalk follows brackets and blocks.
type tokenWalk struct {
	before scriptToken
	// isCallable: behind the last token, brackets call something.
	isCallable bool
	open       []openToken
	// namesParameters: the next bracket has the parameters of a function.
	namesParameters bool
	// namesLocals: the names behind `local` go on.
	namesLocals bool
}

type openToken struct {
	text       string
	isCallable bool // what stood before it was
	parameters bool
}

func (w *tokenWalk) step(token scriptToken) (refusal string) {
	isCallable := false
	switch token.kind {
	case nameToken:
		isCallable = !w.namesLocals
	case stringToken:
		isCallable = w.isCallable
	case numberToken:
	case keywordToken:
		w.keyword(token)
		if token.text == "goto" {
			return inLine(token.line, "engines have no goto")
		}
	case operatorToken:
		isCallable, refusal = w.operator(token)
	}
	w.namesLocals = token.text == "local" || w.namesLocals && (token.kind == nameToken || token.text == ",")
	w.before, w.isCallable = token, isCallable
	if len(w.open) > scriptNestingMost {
		return inLine(token.line, "blocks and brackets are nested more than %d deep", scriptNestingMost)
	}
	return refusal
}

func (w *tokenWalk) keyword(token scriptToken) {
	switch token.text {
	case "function":
		w.namesParameters = true
		w.push(token, false)
	case "do", "if", "repeat":
		w.push(token, false)
	case "end", "until":
		w.pop()
	}
}

func (w *tokenWalk) operator(token scriptToken) (isCallable bool, refusal string) {
	switch token.text {
	case "::":
		return false, inLine(token.line, "engines have no labels")
	case ";":
		if w.inside() != "{" && !w.endsStatement() {
			return false, inLine(token.line, "there is no statement before the semicolon")
		}
	case "(":
		if w.isCallable && !w.namesParameters && w.before.endLine != token.line {
			return false, inLine(token.line, "a line begins with the bracket of a call: write it behind the function, "+
				"or a semicolon between the two")
		}
		w.push(token, w.namesParameters)
		w.namesParameters = false
	case "[", "{":
		w.push(token, false)
	case ")":
		return !w.pop().parameters, ""
	case "]", "}":
		return w.pop().isCallable, ""
	}
	return false, ""
}

// endsStatement tells whether a statement can end with the last token.
func (w *tokenWalk) endsStatement() bool {
	switch w.before.text {
	case "", ";", "do", "then", "else", "repeat":
		return w.before.kind == stringToken
	case ")":
		return w.isCallable
	}
	return true
}

func (w *tokenWalk) push(token scriptToken, parameters bool) {
	w.open = append(w.open, openToken{token.text, w.isCallable, parameters})
}

// pop closes what was opened last. The parser has seen that something is open.
func (w *tokenWalk) pop() openToken {
	if len(w.open) == 0 {
		return openToken{}
	}
	last := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	return last
}

func (w *tokenWalk) inside() string {
	if len(w.open) == 0 {
		return ""
	}
	return w.open[len(w.open)-1].text
}

// scriptScope walks through the tree of a script: what a function has.
type scriptScope struct {
	variadic bool
	locals   int
	loops    int
	refusal  string         // the first one
	see      func(ast.Expr) // each expression; nil: nobody does
}

func (s *scriptScope) refuse(line int, format string, args ...any) {
	if s.refusal == "" {
		s.refusal = inLine(line, format, args...)
	}
}

func (s *scriptScope) block(statements []ast.Stmt, depth int) {
	before := s.locals
	for i, statement := range statements {
		if s.refusal != "" {
			return
		}
		if depth > scriptDepthMost {
			s.refuse(statement.Line(), "blocks are nested too deep")
			return
		}
		if _, is := statement.(*ast.BreakStmt); is && i != len(statements)-1 {
			s.refuse(statement.Line(), "a break is the last statement of its block")
		}
		s.statement(statement, depth+1)
	}
	s.locals = before
}

func (s *scriptScope) statement(statement ast.Stmt, depth int) {
	line := statement.Line()
	switch statement := statement.(type) {
	case *ast.AssignStmt:
		s.all(line, statement.Lhs, depth)
		s.all(line, statement.Rhs, depth)
	case *ast.LocalAssignStmt:
		s.all(line, statement.Exprs, depth)
		s.declare(line, len(statement.Names))
	case *ast.FuncCallStmt:
		s.expression(statement.Expr, depth)
	case *ast.DoBlockStmt:
		s.block(statement.Stmts, depth)
	case *ast.WhileStmt:
		s.expression(statement.Condition, depth)
		s.loop(line, 0, statement.Stmts, depth)
	case *ast.RepeatStmt:
		s.loop(line, 0, statement.Stmts, depth)
		s.expression(statement.Condition, depth)
	case *ast.IfStmt:
		s.expression(statement.Condition, depth)
		s.block(statement.Then, depth)
		s.block(statement.Else, depth)
	case *ast.NumberForStmt:
		s.all(line, []ast.Expr{statement.Init, statement.Limit, statement.Step}, depth)
		s.loop(line, 1, statement.Stmts, depth)
	case *ast.GenericForStmt:
		s.all(line, statement.Exprs, depth)
		s.loop(line, len(statement.Names), statement.Stmts, depth)
	case *ast.FuncDefStmt:
		if statement.Name != nil {
			s.expression(statement.Name.Func, depth)
			s.expression(statement.Name.Receiver, depth)
		}
		s.expression(statement.Func, depth)
	case *ast.ReturnStmt:
		s.all(line, statement.Exprs, depth)
	case *ast.BreakStmt:
		if s.loops == 0 {
			s.refuse(line, "a break is in no loop")
		}
	case *ast.LabelStmt, *ast.GotoStmt:
		s.refuse(line, "engines have no goto and no labels")
	}
}

func (s *scriptScope) loop(line, names int, statements []ast.Stmt, depth int) {
	before := s.locals
	s.declare(line, names)
	s.loops++
	s.block(statements, depth)
	s.loops--
	s.locals = before
}

func (s *scriptScope) declare(line, names int) {
	if s.locals += names; s.locals > scriptLocalsMost {
		s.refuse(line, "a function has more than %d local variables at once", scriptLocalsMost)
	}
}

// all takes expressions whose values an engine holds at the same time.
func (s *scriptScope) all(line int, expressions []ast.Expr, depth int) {
	if s.locals+len(expressions) > scriptValuesMost {
		s.refuse(line, "a function has more than %d local variables and values at once", scriptValuesMost)
	}
	for _, expression := range expressions {
		s.expression(expression, depth)
	}
}

// expression counts as engines do: what stands further behind in a chain is nested deeper.
func (s *scriptScope) expression(expression ast.Expr, depth int) {
	for length := chainLength(expression); s.refusal == "" && expression != nil; length-- {
		if s.see != nil {
			s.see(expression)
		}
		var parts []ast.Expr
		left := leftOf(expression)
		at := depth + length
		if at > scriptDepthMost {
			s.refuse(expression.Line(), "an expression is nested too deep, or has too many parts")
			return
		}
		switch expression := expression.(type) {
		case *ast.AttrGetExpr:
			parts = []ast.Expr{expression.Key}
		case *ast.FuncCallExpr:
			s.all(expression.Line(), expression.Args, at)
		case *ast.LogicalOpExpr:
			parts = []ast.Expr{expression.Rhs}
		case *ast.RelationalOpExpr:
			parts = []ast.Expr{expression.Rhs}
		case *ast.StringConcatOpExpr:
			parts = []ast.Expr{expression.Rhs}
		case *ast.ArithmeticOpExpr:
			parts = []ast.Expr{expression.Rhs}
		case *ast.UnaryMinusOpExpr:
			parts = []ast.Expr{expression.Expr}
		case *ast.UnaryNotOpExpr:
			parts = []ast.Expr{expression.Expr}
		case *ast.UnaryLenOpExpr:
			parts = []ast.Expr{expression.Expr}
		case *ast.TableExpr:
			for _, field := range expression.Fields {
				parts = append(parts, field.Key, field.Value)
			}
		case *ast.Comma3Expr:
			if !s.variadic {
				s.refuse(expression.Line(), "... is not in a function that takes it")
			}
		case *ast.FunctionExpr:
			s.function(expression, at)
		}
		for _, part := range parts {
			s.expression(part, at)
		}
		expression = left
	}
}

func (s *scriptScope) function(function *ast.FunctionExpr, depth int) {
	inner := &scriptScope{variadic: function.ParList.HasVargs, see: s.see}
	inner.declare(function.Line(), len(function.ParList.Names))
	inner.block(function.Stmts, depth)
	if s.refusal == "" {
		s.refusal = inner.refusal
	}
}

// leftOf is the expression that another one begins with.
func leftOf(expression ast.Expr) ast.Expr {
	switch expression := expression.(type) {
	case *ast.AttrGetExpr:
		return expression.Object
	case *ast.FuncCallExpr:
		if expression.Receiver != nil {
			return expression.Receiver
		}
		return expression.Func
	case *ast.LogicalOpExpr:
		return expression.Lhs
	case *ast.RelationalOpExpr:
		return expression.Lhs
	case *ast.StringConcatOpExpr:
		return expression.Lhs
	case *ast.ArithmeticOpExpr:
		return expression.Lhs
	}
	return nil
}

// chainLength is how many expressions one begins with, and itself, as far as that matters.
func chainLength(expression ast.Expr) int {
	length := 0
	for ; expression != nil && length <= scriptDepthMost; expression = leftOf(expression) {
		length++
	}
	return length
}
